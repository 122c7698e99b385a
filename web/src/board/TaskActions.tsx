// What can be done with a task as a whole.

import type { BoardTask } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { taskCommands } from "./taskCommands";

export function TaskActions({ task }: { task: BoardTask }) {
  return taskCommands(task).map((command) => <CommandButton key={command.label} command={command} />);
}
