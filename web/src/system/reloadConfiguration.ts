// Reading the file of the configuration again.

import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";

export const reloadConfiguration: Command = {
  label: "Reload the file",
  name: "Reload the configuration",
  also: "settings file daemon read again",
  run: () =>
    perform("daemon_control", { action: "reload_config" }, ({ applied, needs_restart }) => {
      const said = applied.length > 0 ? `In force: ${applied.join(", ")}.` : "Nothing has changed.";
      say(needs_restart.length > 0 ? `${said} After a restart: ${needs_restart.join(", ")}.` : said);
    }),
};
