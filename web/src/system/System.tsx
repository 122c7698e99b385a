// The daemon itself, one part at a time: is it well, what does its log say, what
// was used, what went wrong, what is allowed, who may come in, how it is set up.

import { useParams } from "wouter";

import { Bar } from "../app/Menu";
import { Parts } from "../app/Parts";
import { Access } from "./Access";
import { Configuration } from "./Configuration";
import { Health } from "./Health";
import { Incidents } from "./Incidents";
import { Logs } from "./Logs";
import { Permissions } from "./Permissions";
import { Usage } from "./Usage";
import "./system.css";

const PARTS = [
  { path: "health", name: "Health", component: Health },
  { path: "logs", name: "Log", component: Logs },
  { path: "usage", name: "Usage", component: Usage },
  { path: "incidents", name: "Incidents", component: Incidents },
  { path: "permissions", name: "Permissions", component: Permissions },
  { path: "access", name: "Access", component: Access },
  { path: "configuration", name: "Configuration", component: Configuration },
];

export function System() {
  const { part } = useParams<{ part?: string }>();
  const chosen = PARTS.find((each) => each.path === part) ?? PARTS[0];
  if (!chosen) return null;
  const Part = chosen.component;
  return (
    <>
      <Bar title="System">
        <Parts label="Parts of the system" parts={PARTS} chosen={chosen} to={(path) => `/system/${path}`} />
      </Bar>
      <div className="view" tabIndex={0}>
        <Part />
      </div>
    </>
  );
}
