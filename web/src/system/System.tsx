// The daemon itself, one part at a time: is it well, how it is set up, what was used,
// what is allowed, who may come in, what went wrong, what its log says.

import { useParams } from "wouter";

import { Bar } from "../app/Menu";
import { Parts } from "../app/Parts";
import { Access } from "./Access";
import { Health } from "./Health";
import { Incidents } from "./Incidents";
import { Logs } from "./Logs";
import { Permissions } from "./Permissions";
import { Settings } from "./Settings";
import { Usage } from "./Usage";
import "./system.css";

const PARTS = [
  { path: "health", name: "Health", component: Health },
  { path: "settings", name: "Configuration", component: Settings },
  { path: "usage", name: "Usage", component: Usage },
  { path: "permissions", name: "Permissions", component: Permissions },
  { path: "access", name: "Access", component: Access },
  { path: "incidents", name: "Incidents", component: Incidents },
  { path: "logs", name: "Log", component: Logs },
];

export function System() {
  const { part } = useParams<{ part?: string }>();
  const chosen = PARTS.find((each) => each.path === part) ?? PARTS[0];
  if (!chosen) return null;
  const Part = chosen.component;
  return (
    <>
      <Bar title="Settings">
        <Parts label="Parts of the settings" parts={PARTS} chosen={chosen} to={(path) => `/system/${path}`} />
      </Bar>
      <div className="view" tabIndex={0}>
        <Part />
      </div>
    </>
  );
}
