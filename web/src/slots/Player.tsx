// Plays what a terminal showed: at any speed, from any moment, with or without
// the pauses.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";

import { useShortcuts } from "../app/shortcuts";
import { Loaded, Nothing } from "../parts/Loaded";
import { fetchRecording, type Recording, withoutPauses } from "./recording";
import { scale } from "./Screen";
import { makeTerminal, type Terminal } from "./xterm";

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const MOST_PAUSE = 1.5;

interface Props {
  slot: string;
  at: string | null;
  /** Told the moment it shows, a few times a second, in milliseconds. */
  played?: (moment: number) => void;
}

export function Player({ slot, at, played }: Props) {
  const recording = useQuery({
    queryKey: ["recording", slot],
    queryFn: ({ signal }) => fetchRecording(slot, signal),
    staleTime: 0,
    gcTime: 0,
  });
  return (
    <Loaded of={recording} lines={12}>
      {(whole) =>
        whole.happened.length === 0 ? (
          <Nothing title="Nothing was shown yet" />
        ) : (
          <Playing whole={whole} at={at} played={played} />
        )
      }
    </Loaded>
  );
}

interface PlayingProps {
  whole: Recording;
  at: string | null;
  played: ((moment: number) => void) | undefined;
}

function Playing({ whole, at, played }: PlayingProps) {
  const frame = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const [pauses, setPauses] = useState(Boolean(at));
  const recording = useMemo(() => (pauses ? whole : withoutPauses(whole, MOST_PAUSE)), [whole, pauses]);
  const stage = useRef<Stage | null>(null);
  const wanted = at ? Math.max(0, (new Date(at).getTime() - whole.began) / 1000) : undefined;
  const [time, setTime] = useState(wanted ?? 0);
  const [playing, setPlaying] = useState(wanted === undefined);
  const [speed, setSpeed] = useState(1);

  useEffect(() => {
    const [outside, inside] = [frame.current, inner.current];
    if (!outside || !inside) return;
    const terminal = makeTerminal(recording.columns, recording.rows);
    terminal.open(inside);
    const fit = () => scale(outside, inside, terminal);
    const resized = new ResizeObserver(fit);
    resized.observe(outside);
    stage.current = new Stage(terminal, recording, fit);
    return () => {
      stage.current = null;
      resized.disconnect();
      terminal.dispose();
    };
  }, [recording]);

  useEffect(() => {
    stage.current?.show(time);
  }, [time, recording]);

  useEffect(() => {
    if (!playing) return;
    let last = performance.now();
    let next = requestAnimationFrame(function tick(now) {
      const passed = ((now - last) / 1000) * speed;
      last = now;
      setTime((before) => {
        const after = Math.min(before + passed, recording.length);
        if (after >= recording.length) setPlaying(false);
        return after;
      });
      next = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(next);
  }, [playing, speed, recording]);

  useEffect(() => {
    if (wanted !== undefined) {
      setPlaying(false);
      setTime(Math.min(wanted, whole.length));
    }
  }, [wanted, whole.length]);

  // Without the pauses a place in the recording is no moment of the day.
  const told = Math.floor(time * 4) / 4;
  useEffect(() => {
    if (pauses && told !== Math.floor((wanted ?? -1) * 4) / 4) played?.(whole.began + told * 1000);
  }, [told, pauses, wanted, played, whole.began]);

  const toggle = () => {
    if (!playing && time >= recording.length) setTime(0);
    setPlaying(!playing);
  };
  const step = (by: number) => setTime((before) => Math.max(0, Math.min(before + by, recording.length)));
  useShortcuts({ " ": toggle, ArrowLeft: () => step(-5), ArrowRight: () => step(5) });

  return (
    <>
      <div ref={frame} className="screen alone" role="img" aria-label="Recording of the terminal">
        <div ref={inner} className="screen-inner" inert />
      </div>
      <div className="player">
        <button type="button" className="button" onClick={toggle}>
          {playing ? "Pause" : time >= recording.length ? "Play again" : "Play"}
        </button>
        <input
          type="range"
          aria-label="Moment"
          min={0}
          max={recording.length}
          step={0.05}
          value={time}
          onChange={(event) => {
            setPlaying(false);
            setTime(Number(event.target.value));
          }}
        />
        <span className="mono quiet">
          {clock(time)} / {clock(recording.length)}
        </span>
        <select
          className="field"
          aria-label="Speed"
          value={speed}
          onChange={(event) => setSpeed(Number(event.target.value))}
        >
          {SPEEDS.map((each) => (
            <option key={each} value={each}>
              {each}×
            </option>
          ))}
        </select>
        <button
          type="button"
          className="button"
          aria-pressed={!pauses}
          onClick={() => {
            setPauses(!pauses);
            setTime(0);
          }}
        >
          Skip pauses
        </button>
      </div>
    </>
  );
}

/** A terminal that stands at a moment of a recording. */
class Stage {
  private next = 0;
  private shown = 0;

  constructor(
    private readonly terminal: Terminal,
    private readonly recording: Recording,
    private readonly fit: () => void,
  ) {}

  show(time: number): void {
    if (time < this.shown) {
      this.terminal.reset();
      this.size(this.recording.columns, this.recording.rows);
      this.next = 0;
    }
    this.shown = time;
    let output = "";
    for (; this.next < this.recording.happened.length; this.next++) {
      const event = this.recording.happened[this.next];
      if (!event || event.at > time) break;
      if (event.kind === "output") output += event.data;
      else {
        this.terminal.write(output);
        output = "";
        this.size(event.columns, event.rows);
      }
    }
    if (output) this.terminal.write(output);
  }

  private size(columns: number, rows: number): void {
    if (this.terminal.cols === columns && this.terminal.rows === rows) return;
    this.terminal.resize(columns, rows);
    this.fit();
  }
}

function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const minutes = Math.floor(whole / 60);
  return `${minutes}:${String(whole % 60).padStart(2, "0")}`;
}
