//! Taking the steps of a turn.

use std::collections::VecDeque;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::command::Running;
use super::{Agent, Break};
use crate::records::ToolResult;
use crate::script::{
    AfterRetries, Ask, Call, Edit, Failure, FileText, Run, Say, Signal, Step, Template,
};
use crate::view::{Activity, Answer, Block, Outcome, Permission, ToolBlock};

/// What is done at once still shows for a moment.
const TOOL_MOMENT: Duration = Duration::from_millis(300);
/// How often a streamed answer grows.
const STREAM_STEP: Duration = Duration::from_millis(40);
/// Lines of a flood between two looks at the keyboard.
const FLOOD_CHUNK: u32 = 200;
/// Lines of a command's output that the transcript keeps.
const RECORDED_LINES: usize = 200;
/// More of a file than this is not edited.
const MAX_EDITED: u64 = 16 << 20;

impl Agent {
    pub(super) fn steps<'a>(
        &'a mut self,
        steps: &'a [Step],
    ) -> LocalBoxFuture<'a, Result<(), Break>> {
        async move {
            for step in steps {
                self.step(step).await?;
            }
            Ok(())
        }
        .boxed_local()
    }

    async fn step(&mut self, step: &Step) -> Result<(), Break> {
        match step {
            Step::Think(time) | Step::Sleep(time) => {
                self.become_busy(Activity::Thinking);
                self.pass(*time).await
            }
            Step::Say(say) => self.say(say).await,
            Step::Ask(ask) => self.ask(ask).await,
            Step::Run(run) => self.run(run).await,
            Step::Write(file) => self.write(file).await,
            Step::Append(file) => self.append(file).await,
            Step::Edit(edit) => self.edit_file(edit).await,
            Step::Signal(signal) => self.signal(signal).await,
            Step::Call(call) => self.call(call).await,
            Step::Question(question) => {
                let question = self.fill(question);
                self.variables.answer = self.ask_in_words(question).await?;
                self.become_busy(Activity::Thinking);
                Ok(())
            }
            Step::Error(failure) => self.fail_and_retry(failure).await,
            Step::Usage(usage) => {
                self.transcript.used(*usage)?;
                Ok(())
            }
            Step::UsageLimit { resets } => {
                let text = format!("Limit reached, resets {}", self.fill(resets));
                Err(self.fail(text))
            }
            Step::Hang => {
                self.become_busy(Activity::Thinking);
                self.draw()?;
                Err(self.hang().await)
            }
            Step::Flood { lines, text } => self.flood(*lines, text).await,
            Step::Exit(code) => Err(Break::Exit(*code)),
            Step::Crash(how) => Err(Break::Crash(*how)),
            Step::Repeat { times, steps } => {
                for _ in 0..*times {
                    self.steps(steps).await?;
                }
                Ok(())
            }
        }
    }

    fn fill(&self, template: &Template) -> String {
        template.fill(&self.variables)
    }

    async fn say(&mut self, say: &Say) -> Result<(), Break> {
        let text = self.fill(&say.text);
        self.become_busy(Activity::Responding);
        self.view.push(Block::Said {
            text: String::new(),
            finished: false,
        });
        let at_once = (say.rate * self.speed * STREAM_STEP.as_secs_f64()).max(1.0) as usize;
        let pause = Duration::from_secs_f64(at_once as f64 / say.rate);
        let letters: Vec<char> = text.chars().collect();
        let mut streamed = Ok(());
        for piece in letters.chunks(at_once) {
            if let Some((shown, _)) = self.view.unfinished_text() {
                shown.extend(piece);
            }
            streamed = self.pass(pause).await;
            if streamed.is_err() {
                break;
            }
        }
        let mut said = String::new();
        if let Some((shown, finished)) = self.view.unfinished_text() {
            *finished = true;
            said.clone_from(shown);
        }
        self.transcript.assistant_text(&said)?;
        streamed
    }

    async fn ask(&mut self, ask: &Ask) -> Result<(), Break> {
        let answer = if self.session.is_allowed(&ask.tool) {
            Answer::Allow
        } else {
            let permission = Permission {
                tool: ask.tool.clone(),
                args: self.fill(&ask.args),
                question: self.fill(&ask.question),
                mark: 0,
            };
            self.ask_person(permission).await?
        };
        self.become_busy(Activity::Thinking);
        match answer {
            Answer::Allow => self.steps(&ask.allow).await,
            Answer::Always => {
                self.session.allow_always(&ask.tool);
                self.steps(ask.always.as_ref().unwrap_or(&ask.allow)).await
            }
            Answer::Deny => {
                let text = format!("Denied: {}", ask.tool);
                self.transcript.event("denied", &text)?;
                self.view.push(Block::Notice(text));
                match &ask.deny {
                    Some(steps) => self.steps(steps).await,
                    None => Err(Break::TurnEnds),
                }
            }
        }
    }

    async fn run(&mut self, run: &Run) -> Result<(), Break> {
        let argv: Vec<String> = run.argv.iter().map(|part| self.fill(part)).collect();
        let cwd = match &run.cwd {
            Some(cwd) => self.cwd.join(self.fill(cwd)),
            None => self.cwd.clone(),
        };
        let shown = argv.join(" ");
        let input = json!({"argv": argv, "cwd": cwd});
        self.begin_tool("Run", &shown);
        let mut running = match Running::start(&argv, &cwd) {
            Ok(running) => running,
            Err(reason) => {
                self.end_tool("Run", &input, Err(reason.clone()))?;
                return Err(self.fail(format!("Error: {reason}")));
            }
        };
        let mut output = VecDeque::new();
        while let Some(line) = self.while_working(running.next_line()).await? {
            output.push_back(line.clone());
            if output.len() > RECORDED_LINES {
                output.pop_front();
            }
            if let Some(tool) = self.view.tool() {
                tool.tail.push_back(line);
                while tool.tail.len() > run.tail {
                    tool.tail.pop_front();
                }
            }
        }
        let ended = self.while_working(running.wait()).await?;
        let ended = ended.map_err(|reason| Break::Failed(std::io::Error::other(reason).into()))?;
        let code = exit_code(ended);
        let result = format!("exit code {code}");
        output.push_back(result.clone());
        let output = Vec::from(output).join("\n");
        let (outcome, is_error) = match code {
            0 => (Outcome::Done(result), false),
            _ => (Outcome::Failed(result), true),
        };
        let recorded = ToolResult {
            text: output,
            is_error,
        };
        self.close_tool("Run", &input, outcome, &recorded)?;
        match run.exit {
            Some(expected) if expected != code => Err(self.fail(format!(
                "Error: `{shown}` ended with exit code {code}, the script expects {expected}"
            ))),
            _ => Ok(()),
        }
    }

    async fn write(&mut self, file: &FileText) -> Result<(), Break> {
        let (path, text) = (self.fill(&file.file), self.fill(&file.text));
        let full = self.cwd.join(&path);
        let input = json!({"file": path, "text": text});
        self.instant_tool("Write", &path, &input, || {
            parent_of(&full)?;
            fs::write(&full, &text)?;
            Ok(format!("{} bytes", text.len()))
        })
        .await
    }

    async fn append(&mut self, file: &FileText) -> Result<(), Break> {
        let (path, text) = (self.fill(&file.file), self.fill(&file.text));
        let full = self.cwd.join(&path);
        let input = json!({"file": path, "text": text});
        self.instant_tool("Append", &path, &input, || {
            parent_of(&full)?;
            let mut file = fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(&full)?;
            file.write_all(text.as_bytes())?;
            Ok(format!("{} bytes more", text.len()))
        })
        .await
    }

    async fn edit_file(&mut self, edit: &Edit) -> Result<(), Break> {
        let path = self.fill(&edit.file);
        let (replace, with) = (self.fill(&edit.replace), self.fill(&edit.with));
        let full = self.cwd.join(&path);
        let input = json!({"file": path, "replace": replace, "with": with});
        self.instant_tool("Edit", &path, &input, || {
            if fs::metadata(&full)?.len() > MAX_EDITED {
                return Err(std::io::Error::other("the file is too large"));
            }
            let text = fs::read_to_string(&full)?;
            let found = text.matches(replace.as_str()).count();
            if found == 0 {
                return Err(std::io::Error::other(format!("`{replace}` is not in it")));
            }
            fs::write(&full, text.replace(&replace, &with))?;
            Ok(format!("replaced {found} times"))
        })
        .await
    }

    async fn instant_tool(
        &mut self,
        name: &str,
        args: &str,
        input: &Value,
        work: impl FnOnce() -> std::io::Result<String>,
    ) -> Result<(), Break> {
        self.begin_tool(name, args);
        self.pass(TOOL_MOMENT).await?;
        let done = work().map_err(|error| error.to_string());
        let reason = done.as_ref().err().cloned();
        self.end_tool(name, input, done)?;
        match reason {
            Some(reason) => Err(self.fail(format!("Error: {args}: {reason}"))),
            None => Ok(()),
        }
    }

    async fn signal(&mut self, signal: &Signal) -> Result<(), Break> {
        let payload = signal.payload.fill(&self.variables);
        if let Some(reporter) = &mut self.reporter {
            let line = reporter.line(&self.variables.session, &signal.kind, &payload);
            self.become_busy(Activity::Responding);
            self.transcript.assistant_text(&line)?;
            self.view.push(Block::Said {
                text: line,
                finished: true,
            });
            return self.pass(TOOL_MOMENT).await;
        }
        self.begin_tool("Signal", &signal.kind);
        // Taken out while in use: drawing and keys need the rest of the agent.
        let mut channel = self.signals.take();
        let mut servers = std::mem::take(&mut self.servers);
        let sent = match &mut channel {
            Some(channel) => {
                self.while_working(channel.send(&signal.kind, &payload))
                    .await
            }
            None => {
                use crate::SignalChannel as _;
                self.while_working(servers.send(&signal.kind, &payload))
                    .await
            }
        };
        (self.signals, self.servers) = (channel, servers);
        let sent = sent?.map_err(|error| error.to_string());
        let input = json!({"type": signal.kind, "payload": payload});
        self.end_tool("Signal", &input, sent)
    }

    async fn call(&mut self, call: &Call) -> Result<(), Break> {
        let arguments = call.arguments.fill(&self.variables);
        self.begin_tool(&call.tool, &arguments.to_string());
        let mut servers = std::mem::take(&mut self.servers);
        let answer = self
            .while_working(servers.call(&call.tool, &arguments))
            .await;
        self.servers = servers;
        let answer = match answer? {
            Ok(answer) if answer.is_error => Err(answer.text),
            Ok(answer) => Ok(answer.text),
            Err(error) => Err(error.to_string()),
        };
        self.end_tool(&call.tool, &arguments, answer)
    }

    async fn fail_and_retry(&mut self, failure: &Failure) -> Result<(), Break> {
        let text = self.fill(&failure.text);
        self.become_busy(Activity::Thinking);
        for retry in 1..=failure.retries {
            let wait = failure.wait.as_secs_f64();
            self.view.push(Block::Notice(format!(
                "{text}: trying again in {wait} s ({retry}/{})",
                failure.retries
            )));
            self.pass(failure.wait).await?;
        }
        match failure.then {
            AfterRetries::Recover => Ok(()),
            AfterRetries::Stop => Err(self.fail(format!("Error: {text}"))),
        }
    }

    /// Ends the turn with an error on the screen.
    fn fail(&mut self, text: String) -> Break {
        self.view.failed = true;
        let recorded = self.transcript.event("error", &text);
        self.view.push(Block::Failure(text));
        match recorded {
            Ok(()) => Break::TurnEnds,
            Err(error) => error.into(),
        }
    }

    async fn flood(&mut self, lines: u32, text: &Template) -> Result<(), Break> {
        let text = self.fill(text);
        self.become_busy(Activity::Responding);
        let mut number = 0;
        while number < lines {
            let end = (number + FLOOD_CHUNK).min(lines);
            let chunk = (number + 1..=end).map(|number| format!("{number}: {text}"));
            self.view.push(Block::Lines(chunk.collect()));
            number = end;
            self.while_working(tokio::task::yield_now()).await?;
        }
        self.transcript
            .assistant_text(&format!("{lines} lines of: {text}"))?;
        Ok(())
    }

    fn begin_tool(&mut self, name: &str, args: &str) {
        self.become_busy(Activity::Tool);
        self.view.push(Block::Tool(ToolBlock {
            name: name.to_owned(),
            args: args.to_owned(),
            tail: VecDeque::new(),
            outcome: None,
        }));
    }

    fn end_tool(
        &mut self,
        name: &str,
        input: &Value,
        result: Result<String, String>,
    ) -> Result<(), Break> {
        let is_error = result.is_err();
        let (Ok(text) | Err(text)) = &result;
        let recorded = ToolResult {
            text: text.clone(),
            is_error,
        };
        let outcome = result.map_or_else(Outcome::Failed, Outcome::Done);
        self.close_tool(name, input, outcome, &recorded)
    }

    fn close_tool(
        &mut self,
        name: &str,
        input: &Value,
        outcome: Outcome,
        recorded: &ToolResult,
    ) -> Result<(), Break> {
        if let Some(tool) = self.view.tool() {
            tool.outcome = Some(outcome);
        }
        self.become_busy(Activity::Thinking);
        self.transcript.tool(name, input, recorded)?;
        Ok(())
    }
}

fn parent_of(file: &Path) -> std::io::Result<()> {
    match file.parent() {
        Some(parent) => fs::create_dir_all(parent),
        None => Ok(()),
    }
}

/// As a shell counts it: a signal is 128 and its number.
fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(-1)
}
