//! Taking the steps of a turn.

use std::collections::VecDeque;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::command::Running;
use super::{Agent, Asked, Break, Failed, FailureSort, Stage, ToolCall};
use crate::records::ToolResult;
use crate::script::{
    AfterRetries, Ask, Call, Edit, Failure, FileText, Run, Say, Signal, Step, Template,
};
use crate::view::{Activity, Answer, Outcome};

/// What is done at once still shows for a moment.
const TOOL_MOMENT: Duration = Duration::from_millis(300);
/// How often a streamed answer grows.
const STREAM_STEP: Duration = Duration::from_millis(40);
/// Lines of a flood between two looks at what comes from outside.
const FLOOD_CHUNK: u32 = 200;
/// Lines of a command's output that the transcript keeps.
const RECORDED_LINES: usize = 200;
/// More of a file than this is not edited.
const MAX_EDITED: u64 = 16 << 20;

impl<S: Stage> Agent<S> {
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
                self.stage.think()?;
                self.pass(*time).await
            }
            Step::Say(say) => self.say(say).await,
            Step::Plan(entries) => {
                let filled: Vec<_> = entries
                    .iter()
                    .map(|(text, entry)| (self.fill(text), *entry))
                    .collect();
                Ok(self.stage.plan(&filled)?)
            }
            Step::Ask(ask) => self.ask(ask).await,
            Step::Run(run) => self.run(run).await,
            Step::Write(file) => self.write(file).await,
            Step::Append(file) => self.append(file).await,
            Step::Edit(edit) => self.edit_file(edit).await,
            Step::Signal(signal) => self.signal(signal).await,
            Step::Call(call) => self.call(call).await,
            Step::Question(question) => self.question(question).await,
            Step::Error(failure) => self.fail_and_retry(failure).await,
            Step::Usage(usage) => {
                self.transcript.used(*usage)?;
                Ok(self.stage.used(*usage)?)
            }
            Step::UsageLimit { resets } => {
                let text = format!("Limit reached, resets {}", self.fill(resets));
                Err(self.fail(text, FailureSort::UsageLimit))
            }
            Step::Hang => {
                self.stage.become_busy(Activity::Thinking)?;
                self.stage.draw()?;
                Err(self.stage.hang().await)
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

    async fn say(&mut self, say: &Say) -> Result<(), Break> {
        let text = self.fill(&say.text);
        self.stage.become_busy(Activity::Responding)?;
        let at_once = (say.rate * self.speed * STREAM_STEP.as_secs_f64()).max(1.0) as usize;
        let pause = Duration::from_secs_f64(at_once as f64 / say.rate);
        let letters: Vec<char> = text.chars().collect();
        let mut said = String::new();
        let mut streamed = Ok(());
        for piece in letters.chunks(at_once) {
            let piece: String = piece.iter().collect();
            self.stage.say(&piece)?;
            said.push_str(&piece);
            streamed = self.pass(pause).await;
            if streamed.is_err() {
                break;
            }
        }
        self.stage.end_saying();
        self.transcript.assistant_text(&said)?;
        streamed
    }

    async fn question(&mut self, question: &Template) -> Result<(), Break> {
        let question = self.fill(question);
        if S::ANSWERS_ARE_PROMPTS {
            self.transcript.assistant_text(&question)?;
        }
        self.variables.answer = self.stage.ask_in_words(question).await?;
        if S::ANSWERS_ARE_PROMPTS {
            self.transcript.prompt(&self.variables.answer)?;
        }
        Ok(self.stage.become_busy(Activity::Thinking)?)
    }

    async fn ask(&mut self, ask: &Ask) -> Result<(), Break> {
        let call = self.asked_call(ask);
        let answer = if self.session.is_allowed(&ask.tool) {
            None
        } else {
            let asked = Asked {
                call: &call,
                args: self.fill(&ask.args),
                question: self.fill(&ask.question),
            };
            Some(self.stage.ask_permission(&asked).await?)
        };
        self.stage.become_busy(Activity::Thinking)?;
        match answer {
            None => self.steps(&ask.allow).await,
            Some(Answer::Allow) => self.allowed(call, &ask.allow).await,
            Some(Answer::Always) => {
                self.session.allow_always(&ask.tool);
                let steps = ask.always.as_ref().unwrap_or(&ask.allow);
                self.allowed(call, steps).await
            }
            Some(Answer::Deny) => {
                let text = format!("Denied: {}", ask.tool);
                self.transcript.event("denied", &text)?;
                self.stage.refuse_tool(&call)?;
                match &ask.deny {
                    Some(steps) => self.steps(steps).await,
                    None => Err(Break::TurnEnds),
                }
            }
        }
    }

    async fn allowed(&mut self, call: ToolCall, steps: &[Step]) -> Result<(), Break> {
        self.asked = Some(call);
        self.steps(steps).await?;
        // None of the steps was the call itself.
        if let Some(call) = self.asked.take() {
            let done = Outcome::Done(String::new());
            self.stage.end_tool(&call, done, "")?;
        }
        Ok(())
    }

    async fn run(&mut self, run: &Run) -> Result<(), Break> {
        let (argv, cwd) = self.argv(run);
        let call = self.run_call(run);
        let call = self.begin_tool(call)?;
        let mut running = match Running::start(&argv, &cwd) {
            Ok(running) => running,
            Err(reason) => {
                self.end_tool(&call, Err(reason.clone()))?;
                return Err(self.fail(format!("Error: {reason}"), FailureSort::Error));
            }
        };
        let mut output = VecDeque::new();
        while let Some(line) = self.while_working(running.next_line()).await? {
            output.push_back(line.clone());
            if output.len() > RECORDED_LINES {
                output.pop_front();
            }
            self.stage.tool_line(line, run.tail);
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
        self.close_tool(&call, outcome, &recorded)?;
        match run.exit {
            Some(expected) if expected != code => {
                let shown = argv.join(" ");
                let text = format!(
                    "Error: `{shown}` ended with exit code {code}, the script expects {expected}"
                );
                Err(self.fail(text, FailureSort::Error))
            }
            _ => Ok(()),
        }
    }

    async fn write(&mut self, file: &FileText) -> Result<(), Break> {
        let text = self.fill(&file.text);
        let full = self.cwd.join(self.fill(&file.file));
        let call = self.write_call(file);
        self.instant_tool(call, || {
            parent_of(&full)?;
            fs::write(&full, &text)?;
            Ok(format!("{} bytes", text.len()))
        })
        .await
    }

    async fn append(&mut self, file: &FileText) -> Result<(), Break> {
        let text = self.fill(&file.text);
        let full = self.cwd.join(self.fill(&file.file));
        let call = self.append_call(file);
        self.instant_tool(call, || {
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
        let (replace, with) = (self.fill(&edit.replace), self.fill(&edit.with));
        let full = self.cwd.join(self.fill(&edit.file));
        let call = self.edit_call(edit);
        self.instant_tool(call, || {
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
        call: ToolCall,
        work: impl FnOnce() -> std::io::Result<String>,
    ) -> Result<(), Break> {
        let call = self.begin_tool(call)?;
        self.pass(TOOL_MOMENT).await?;
        let done = work().map_err(|error| error.to_string());
        let reason = done.as_ref().err().cloned();
        self.end_tool(&call, done)?;
        match reason {
            Some(reason) => {
                let text = format!("Error: {}: {reason}", call.shown);
                Err(self.fail(text, FailureSort::Error))
            }
            None => Ok(()),
        }
    }

    async fn signal(&mut self, signal: &Signal) -> Result<(), Break> {
        let payload = signal.payload.fill(&self.variables);
        if let Some(reporter) = &mut self.reporter {
            let line = reporter.line(&self.variables.session, &signal.kind, &payload);
            self.stage.become_busy(Activity::Responding)?;
            self.transcript.assistant_text(&line)?;
            self.stage.say(&line)?;
            self.stage.end_saying();
            return self.pass(TOOL_MOMENT).await;
        }
        let call = self.signal_call(signal);
        let call = self.begin_tool(call)?;
        // Taken out while in use: the stage needs the rest of the agent.
        let mut channel = self.signals.take();
        let mut servers = std::mem::take(&mut self.servers);
        let sent = match &mut channel {
            Some(channel) => {
                self.while_working(channel.send(&signal.kind, &payload))
                    .await
            }
            None => {
                use crate::signal::SignalChannel as _;
                self.while_working(servers.send(&signal.kind, &payload))
                    .await
            }
        };
        (self.signals, self.servers) = (channel, servers);
        let sent = sent?.map_err(|error| error.to_string());
        self.end_tool(&call, sent)
    }

    async fn call(&mut self, call: &Call) -> Result<(), Break> {
        let arguments = call.arguments.fill(&self.variables);
        let tool = self.mcp_call(call);
        let tool = self.begin_tool(tool)?;
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
        self.end_tool(&tool, answer)
    }

    async fn fail_and_retry(&mut self, failure: &Failure) -> Result<(), Break> {
        let text = self.fill(&failure.text);
        self.stage.become_busy(Activity::Thinking)?;
        for retry in 1..=failure.retries {
            let wait = failure.wait.as_secs_f64();
            self.stage.notice(format!(
                "{text}: trying again in {wait} s ({retry}/{})",
                failure.retries
            ))?;
            self.pass(failure.wait).await?;
        }
        match failure.then {
            AfterRetries::Recover => Ok(()),
            AfterRetries::Stop => Err(self.fail(format!("Error: {text}"), FailureSort::Error)),
        }
    }

    /// Ends the turn with an error.
    fn fail(&mut self, text: String, sort: FailureSort) -> Break {
        let recorded = self.transcript.event("error", &text);
        let shown = self.stage.fail(Failed { text, sort });
        match recorded.and(shown) {
            Ok(()) => Break::TurnEnds,
            Err(error) => error.into(),
        }
    }

    async fn flood(&mut self, lines: u32, text: &Template) -> Result<(), Break> {
        let text = self.fill(text);
        self.stage.become_busy(Activity::Responding)?;
        let mut number = 0;
        while number < lines {
            let end = (number + FLOOD_CHUNK).min(lines);
            let chunk = (number + 1..=end).map(|number| format!("{number}: {text}"));
            self.stage.pour(chunk.collect())?;
            number = end;
            self.while_working(tokio::task::yield_now()).await?;
        }
        self.transcript
            .assistant_text(&format!("{lines} lines of: {text}"))?;
        Ok(())
    }

    fn begin_tool(&mut self, call: ToolCall) -> Result<ToolCall, Break> {
        let call = self.asked_before(call);
        self.stage.become_busy(Activity::Tool)?;
        self.stage.begin_tool(&call)?;
        Ok(call)
    }

    fn end_tool(&mut self, call: &ToolCall, result: Result<String, String>) -> Result<(), Break> {
        let is_error = result.is_err();
        let (Ok(text) | Err(text)) = &result;
        let recorded = ToolResult {
            text: text.clone(),
            is_error,
        };
        let outcome = result.map_or_else(Outcome::Failed, Outcome::Done);
        self.close_tool(call, outcome, &recorded)
    }

    fn close_tool(
        &mut self,
        call: &ToolCall,
        outcome: Outcome,
        recorded: &ToolResult,
    ) -> Result<(), Break> {
        self.stage.end_tool(call, outcome, &recorded.text)?;
        self.stage.become_busy(Activity::Thinking)?;
        self.transcript.tool(call, recorded)?;
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
