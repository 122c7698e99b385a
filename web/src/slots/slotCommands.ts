// What can be done with a terminal while it is open.

import { go } from "../app/address";
import type { SlotSummary } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";

export function slotCommands(slot: SlotSummary): Command[] {
  return [
    {
      label: "Send",
      name: `Tell ${slot.name}`,
      also: "type message send",
      takesWords: true,
      run: (text) => tellSlot(slot.slot, text),
    },
    { label: "Take over", name: `Take over ${slot.name}`, also: "terminal type keyboard", run: () => go(`/slots/${slot.slot}?take`) },
    interruptSlot(slot),
    stopSlot(slot),
  ];
}

export const tellSlot = (slot: string, text: string): Promise<boolean> =>
  perform("slot_send", { slot, text, submit: true }, ({ evidence, landed }) => say(evidence, landed === "confirmed" ? "good" : "wait"));

export const interruptSlot = ({ slot, name }: SlotSummary): Command => ({
  label: "Interrupt",
  name: `Interrupt ${name}`,
  also: "ctrl-c",
  run: () => perform("slot_interrupt", { slot }, () => say("Ctrl-C was pressed.", "rest")),
});

export const stopSlot = ({ slot, name }: SlotSummary): Command => ({
  label: "Stop",
  name: `Stop ${name}`,
  also: "end kill terminal",
  look: "danger",
  confirm: `Stop ${name} and every process it started?`,
  run: () => perform("slot_kill", { slot }, ({ outcome }) => say(outcome, "rest")),
});
