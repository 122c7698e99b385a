//! `mission inbox --watch` on a whole terminal: what waits for a person as a list, with
//! everything that is decided on below it, and a key for each answer.
//!
//! A key answers the question that is marked, by its number, and the daemon takes it only if
//! it is still the one that was shown. When that question is gone nothing is marked, so that
//! a key pressed a moment late answers nothing else.

mod keys;
mod screen;

use std::process::ExitCode;
use std::time::Duration;

use missiond_api::Client;
use missiond_api::operations::attention::{
    GrantParams, QuestionAnswer, QuestionAnswerParams, QuestionDismiss, QuestionDismissParams,
    QuestionList, QuestionListParams,
};
use missiond_core::{
    Bounded, Limit, Question, QuestionNumber, QuestionOrigin, QuestionRef, Text, TimelineEvent,
};

use super::live::{Input, LiveTerminal};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Paint, printable};
use keys::{Key, key};
use screen::View;

/// A daemon that tells nothing is asked again after this.
const AGAIN: Duration = Duration::from_secs(10);
/// Seconds that `h` allows for.
const HOUR: Bounded<1, { 30 * 24 * 3600 }> = Bounded::of::<3600>();

pub(super) fn watch(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let client = reach.running()?;
    let mut inbox = Inbox {
        reach,
        paint: output.paint,
        client: Some(client),
        questions: None,
        trouble: String::new(),
        marked: None,
        scrolled: 0,
        typing: None,
        help: false,
        live: LiveTerminal::acquire()?,
    };
    let ended = inbox.run();
    inbox.live.release();
    ended
}

struct Inbox<'a> {
    reach: &'a Reach,
    paint: Paint,
    client: Option<Client>,
    /// None while there is no daemon, or before it was asked.
    questions: Option<Vec<Question>>,
    trouble: String,
    /// The question that keys answer.
    marked: Option<QuestionNumber>,
    /// Rows of its details that are passed over.
    scrolled: usize,
    /// The answer that is being typed.
    typing: Option<String>,
    help: bool,
    live: LiveTerminal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Stay,
    Leave,
}

impl Inbox<'_> {
    fn run(&mut self) -> Result<ExitCode, Failure> {
        loop {
            if self.live.is_due() {
                self.read();
            }
            self.draw()?;
            for input in self.live.wait()? {
                let piece = match input {
                    Input::Key(piece) => piece,
                    Input::End(end) => return Ok(end.into()),
                };
                // Asked for each: the first may begin or send an answer.
                let Some(key) = key(&piece, self.typing.is_some()) else {
                    continue;
                };
                if self.handle_key(key) == After::Leave {
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
    }

    fn handle_key(&mut self, key: Key) -> After {
        if self.help && key != Key::Leave {
            self.help = false;
            return After::Stay;
        }
        match key {
            Key::Leave | Key::Quit => return After::Leave,
            Key::Help => self.help = true,
            Key::Up => self.step(|at| at.saturating_sub(1)),
            Key::Down => self.step(|at| at + 1),
            Key::First => self.step(|_| 0),
            Key::Last => self.step(|_| usize::MAX),
            Key::Later => self.scrolled += self.half_a_screen(),
            Key::Earlier => self.scrolled = self.scrolled.saturating_sub(self.half_a_screen()),
            Key::Allow => self.permit(Permission::Once),
            Key::AllowHour => self.permit(Permission::Hour),
            Key::Deny => self.permit(Permission::No),
            Key::Option(number) => self.choose(number),
            Key::Dismiss => self.dismiss(),
            Key::Write if self.question().is_some() => self.typing = Some(String::new()),
            Key::Write => self.say(NOTHING),
            Key::Letters(text) => {
                if let Some(typing) = &mut self.typing {
                    typing.push_str(&text);
                }
            }
            Key::Rub => {
                if let Some(typing) = &mut self.typing {
                    typing.pop();
                }
            }
            Key::Cancel => self.typing = None,
            Key::Send => self.send(),
        }
        After::Stay
    }

    fn half_a_screen(&self) -> usize {
        usize::from(self.live.size().rows / 2)
    }

    /// Marks another question, counted from the one that is marked.
    fn step(&mut self, to: impl FnOnce(usize) -> usize) {
        let questions = self.questions.as_deref().unwrap_or_default();
        let Some(last) = questions.len().checked_sub(1) else {
            return;
        };
        let at = questions
            .iter()
            .position(|one| Some(one.number) == self.marked);
        let at = at.map_or(0, to).min(last);
        self.marked = Some(questions[at].number);
        self.scrolled = 0;
    }

    fn question(&self) -> Option<&Question> {
        let questions = self.questions.as_deref()?;
        questions.iter().find(|one| Some(one.number) == self.marked)
    }

    fn permit(&mut self, permission: Permission) {
        let Some(question) = self.question() else {
            return self.say(NOTHING);
        };
        let number = question.number;
        let QuestionOrigin::Dialog {
            allows,
            denies,
            permission: asked,
            ..
        } = &question.origin
        else {
            let said =
                format!("{number} asks for no permission: choose by its number, or e writes.");
            return self.say(&said);
        };
        let option = match permission {
            Permission::No => denies.clone(),
            Permission::Once | Permission::Hour => allows.clone(),
        };
        let Some(option) = option else {
            let said =
                format!("{number} has no option that is sure to do that: choose by its number.");
            return self.say(&said);
        };
        let by_sight = asked.as_ref().is_none_or(|asked| asked.digest.is_none());
        let grant = matches!(permission, Permission::Hour).then(|| GrantParams {
            seconds: Some(HOUR),
            scope: missiond_api::operations::attention::GrantScope::default(),
            // Who presses this has the whole of it in front of them; where only a screen
            // says it, that is what they go by.
            by_sight,
        });
        self.answer(number, option, grant);
    }

    fn choose(&mut self, number: usize) {
        let Some(question) = self.question() else {
            return self.say(NOTHING);
        };
        let asked = question.number;
        match question.options.get(number - 1).cloned() {
            // By its words: a list that changes its order keeps its meaning.
            Some(option) => self.answer(asked, option, None),
            None if question.options.is_empty() => {
                self.say(&format!("{asked} wants words: e writes."));
            }
            None => {
                let said = format!("{asked} has the answers 1 to {}.", question.options.len());
                self.say(&said);
            }
        }
    }

    fn send(&mut self) {
        let Some(text) = self.typing.take() else {
            return;
        };
        match self.question().map(|question| question.number) {
            Some(_) if text.trim().is_empty() => self.say("Nothing was written."),
            Some(number) => self.answer(number, text, None),
            None => self.say("The question is gone; nothing was sent."),
        }
    }

    fn answer(&mut self, number: QuestionNumber, answer: String, grant: Option<GrantParams>) {
        self.say(&format!("Answering {number}: {answer}"));
        self.live.ask(&self.reach.home, move |client| {
            let params = QuestionAnswerParams {
                question: QuestionRef::Number(number),
                answer: Text::new(answer).map_err(|error| error.to_string())?,
                by: None,
                grant,
            };
            let done = client.call::<QuestionAnswer>(&params);
            let done = done.map_err(|error| error.to_string())?;
            let answer = done.question.answer.clone().unwrap_or_default();
            let rule = done.rule.as_ref().map_or_else(String::new, |rule| {
                format!(" {rule} allows it again for an hour.")
            });
            let held = done
                .held()
                .map_or_else(String::new, |held| format!(" {held}"));
            Ok(format!("{number} is answered: {answer}.{rule}{held}"))
        });
    }

    fn dismiss(&mut self) {
        let Some(number) = self.question().map(|question| question.number) else {
            return self.say(NOTHING);
        };
        self.live.ask(&self.reach.home, move |client| {
            let params = QuestionDismissParams {
                question: QuestionRef::Number(number),
                reason: None,
            };
            let done = client.call::<QuestionDismiss>(&params);
            done.map_err(|error| error.to_string())?;
            Ok(format!("{number} is dismissed; who asked goes on waiting."))
        });
    }

    fn read(&mut self) {
        let client = match &mut self.client {
            Some(client) => Ok(client),
            none => self.reach.running().map(|client| none.insert(client)),
        };
        let params = QuestionListParams {
            all: false,
            limit: Limit::of::<1000>(),
        };
        match client.and_then(|client| client.call::<QuestionList>(&params)) {
            Ok(page) => {
                self.live.was_read(AGAIN);
                let is_first = self.questions.is_none();
                self.questions = Some(page.questions);
                if is_first && self.marked.is_none() {
                    self.step(|_| 0);
                }
                if self.question().is_none() {
                    self.marked = None;
                    self.scrolled = 0;
                    self.typing = None;
                }
                let is_news = |event: &TimelineEvent| event.event.kind().starts_with("question_");
                self.live.subscribe(self.reach, is_news);
            }
            Err(error) => {
                self.client = None;
                self.questions = None;
                self.live.was_not_read();
                let sentence = missiond_core::one_line(&error.to_string());
                self.trouble = printable(&format!("{sentence}; trying again."));
            }
        }
    }

    fn say(&mut self, sentence: &str) {
        self.live.say(sentence);
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let notice = self.live.notice();
        let view = View {
            questions: self.questions.as_deref(),
            trouble: &self.trouble,
            now: missiond_core::Clock::now(&missiond_core::SystemClock),
            marked: self.marked,
            typing: self.typing.as_deref(),
            help: self.help,
            notice: notice.as_deref(),
        };
        let size = self.live.size();
        let picture = screen::draw(&view, &mut self.scrolled, size, self.paint);
        self.live.draw(picture)
    }
}

const NOTHING: &str = "Nothing is marked; j and k mark a question.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Permission {
    Once,
    Hour,
    No,
}
