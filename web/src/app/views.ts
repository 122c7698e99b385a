// The views, in the order of the rail. What most people come for is loaded with
// the page, the others when they are first opened.

import { type ComponentType, lazy, type LazyExoticComponent } from "react";

import { Board } from "../board/Board";
import { Now } from "../now/Now";
import type { IconName } from "./icons";

type Loadable = ComponentType | LazyExoticComponent<ComponentType>;

export interface View {
  path: string;
  name: string;
  /** After `g`. */
  key: string;
  /** Help is at the foot of the rail. */
  group: "Work" | "Memory" | "System" | "Help";
  icon: IconName;
  /** From page to page its frame stays as it is, with what was typed and folded there. */
  isOneFrame?: true;
  component: Loadable;
}

const Slots = lazy(() => import("../slots/Slots").then((module) => ({ default: module.Slots })));
const SlotPage = lazy(() => import("../slots/SlotPage").then((module) => ({ default: module.SlotPage })));
const TaskPage = lazy(() => import("../board/TaskPage").then((module) => ({ default: module.TaskPage })));
const Executions = lazy(() => import("../executions/Executions").then((module) => ({ default: module.Executions })));
const ExecutionPage = lazy(() =>
  import("../executions/ExecutionPage").then((module) => ({ default: module.ExecutionPage })),
);
const Review = lazy(() => import("../review/Review").then((module) => ({ default: module.Review })));
const ReviewPage = lazy(() => import("../review/ReviewPage").then((module) => ({ default: module.ReviewPage })));
const Knowledge = lazy(() => import("../knowledge/Knowledge").then((module) => ({ default: module.Knowledge })));
const EntryPage = lazy(() => import("../knowledge/EntryPage").then((module) => ({ default: module.EntryPage })));
const Code = lazy(() => import("../code/Code").then((module) => ({ default: module.Code })));
const Conversations = lazy(() =>
  import("../conversations/Conversations").then((module) => ({ default: module.Conversations })),
);
const ConversationPage = lazy(() =>
  import("../conversations/ConversationPage").then((module) => ({ default: module.ConversationPage })),
);
const Timeline = lazy(() => import("../timeline/Timeline").then((module) => ({ default: module.Timeline })));
const Tools = lazy(() => import("../tools/Tools").then((module) => ({ default: module.Tools })));
const Docs = lazy(() => import("../docs/Docs").then((module) => ({ default: module.Docs })));
const System = lazy(() => import("../system/System").then((module) => ({ default: module.System })));

export const VIEWS: View[] = [
  { path: "/", name: "Now", key: "n", group: "Work", icon: "now", component: Now },
  { path: "/board", name: "Board", key: "b", group: "Work", icon: "board", component: Board },
  { path: "/review", name: "Review", key: "r", group: "Work", icon: "review", component: Review },
  { path: "/executions", name: "Runs", key: "e", group: "Work", icon: "runs", component: Executions },
  { path: "/slots", name: "Slots", key: "s", group: "Work", icon: "slots", component: Slots },
  { path: "/knowledge", name: "Knowledge", key: "k", group: "Memory", icon: "knowledge", component: Knowledge },
  { path: "/code", name: "Code", key: "c", group: "Memory", icon: "code", component: Code },
  { path: "/conversations", name: "Conversations", key: "v", group: "Memory", icon: "conversations", component: Conversations },
  { path: "/timeline", name: "Timeline", key: "t", group: "System", icon: "timeline", component: Timeline },
  { path: "/tools", name: "Tools", key: "o", group: "System", icon: "tools", component: Tools },
  { path: "/system", name: "Settings", key: "y", group: "System", icon: "settings", component: System },
  { path: "/docs", name: "Docs", key: "d", group: "Help", icon: "docs", isOneFrame: true, component: Docs },
];

export const GROUPS: View["group"][] = ["Work", "Memory", "System"];

/** The view an address belongs to; every address begins like that of the first. */
export function viewAt(location: string): View | undefined {
  return VIEWS.find((view) => (view.path === "/" ? location === "/" : location.startsWith(view.path)));
}

/** Pages within a view, found before the view itself. */
export const PAGES: { path: string; component: Loadable }[] = [
  { path: "/board/:task", component: TaskPage },
  { path: "/slots/:slot", component: SlotPage },
  { path: "/executions/:execution", component: ExecutionPage },
  { path: "/review/:worktree", component: ReviewPage },
  { path: "/conversations/:conversation", component: ConversationPage },
  { path: "/knowledge/entry/:entry", component: EntryPage },
  { path: "/knowledge/:part", component: Knowledge },
  { path: "/code/:part", component: Code },
  { path: "/system/:part", component: System },
  { path: "/docs/*?", component: Docs },
];
