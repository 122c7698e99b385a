// The views, in the order of the rail. What most people come for is loaded with
// the page, the others when they are first opened.

import { type ComponentType, lazy, type LazyExoticComponent } from "react";

import { Attention } from "../attention/Attention";
import { Board } from "../board/Board";

type Loadable = ComponentType | LazyExoticComponent<ComponentType>;

export interface View {
  path: string;
  name: string;
  /** After `g`. */
  key: string;
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
const System = lazy(() => import("../system/System").then((module) => ({ default: module.System })));

export const VIEWS: View[] = [
  { path: "/attention", name: "Attention", key: "a", component: Attention },
  { path: "/board", name: "Board", key: "b", component: Board },
  { path: "/slots", name: "Slots", key: "s", component: Slots },
  { path: "/executions", name: "Runs", key: "e", component: Executions },
  { path: "/review", name: "Review", key: "r", component: Review },
  { path: "/knowledge", name: "Knowledge", key: "k", component: Knowledge },
  { path: "/code", name: "Code", key: "c", component: Code },
  { path: "/conversations", name: "Conversations", key: "v", component: Conversations },
  { path: "/timeline", name: "Timeline", key: "t", component: Timeline },
  { path: "/tools", name: "Tools", key: "o", component: Tools },
  { path: "/system", name: "System", key: "y", component: System },
];

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
];
