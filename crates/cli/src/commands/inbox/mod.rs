//! `mission inbox --watch` on a whole terminal: what waits for a person as a list, with
//! everything that is decided on below it, and a key for each answer.
//!
//! A key answers the question that is marked, by its number, and the daemon takes it only if
//! it is still the one that was shown. When that question is gone nothing is marked, so that
//! a key pressed a moment late answers nothing else.

mod keys;
mod screen;

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use missiond_api::operations::attention::{
    GrantParams, QuestionAnswer, QuestionAnswerParams, QuestionDismiss, QuestionDismissParams,
    QuestionList, QuestionListParams,
};
use missiond_api::{Client, SubscribeParams};
use missiond_core::{Bounded, Limit, Question, QuestionNumber, QuestionOrigin, QuestionRef, Text};
use missiond_semantic::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::attach::tty::{self, AcquiredTerminal, Keyboard};
use super::signals::{self, Heard};
use super::status::keys::KeyReader;
use super::status::news::{Bell, News};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Paint, printable};
use keys::{Key, key};
use screen::View;

/// Questions come in flocks, and the daemon may be away.
const GATHERING: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_secs(10);
const NOTICE: Duration = Duration::from_secs(6);
/// Seconds that `h` allows for.
const HOUR: Bounded<1, { 30 * 24 * 3600 }> = Bounded::of::<3600>();

/// Whether there is a terminal to fill.
pub(super) fn fits(output: &Output) -> bool {
    !output.is_json() && tty::stdin_is_terminal() && tty::stdout_is_terminal()
}

pub(super) fn watch(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let client = reach.running()?;
    let (awaken, wake) = UnixStream::pair()?;
    awaken.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let (news, heard) = channel();
    let bell = Bell {
        news,
        wake: Arc::new(wake),
    };
    let of_signals = bell.clone();
    signals::watch(move |signal| {
        of_signals.ring(match signal {
            Heard::Resized => News::Resized,
            Heard::Ending(number) => News::Ending(number),
        })
    })?;
    let mut live = Live {
        reach,
        paint: output.paint,
        client: Some(client),
        bell,
        subscribed: false,
        questions: None,
        trouble: String::new(),
        due: Instant::now(),
        keys: KeyReader::default(),
        marked: None,
        scrolled: 0,
        typing: None,
        help: false,
        notice: None,
        drawn: Vec::new(),
        size: tty::size(),
        terminal: Some(tty::acquire(Keyboard::Raw)?),
    };
    let ended = live.run(&awaken, &heard);
    drop(live.terminal.take());
    Ok(match ended? {
        None => ExitCode::SUCCESS,
        Some(signal) => ExitCode::from(128 + u8::try_from(signal).unwrap_or(0)),
    })
}

struct Live<'a> {
    reach: &'a Reach,
    paint: Paint,
    client: Option<Client>,
    bell: Bell,
    subscribed: bool,
    /// None while there is no daemon, or before it was asked.
    questions: Option<Vec<Question>>,
    trouble: String,
    due: Instant,
    keys: KeyReader,
    /// The question that keys answer.
    marked: Option<QuestionNumber>,
    /// Rows of its details that are passed over.
    scrolled: usize,
    /// The answer that is being typed.
    typing: Option<String>,
    help: bool,
    notice: Option<(String, Instant)>,
    drawn: Vec<String>,
    size: Size,
    terminal: Option<AcquiredTerminal>,
}

/// What a key asks of the loop: the signal it ends with, if it ends.
type End = Option<Option<i32>>;

impl Live<'_> {
    fn run(&mut self, wake: &UnixStream, heard: &Receiver<News>) -> Result<Option<i32>, Failure> {
        let mut buffer = [0; 4096];
        loop {
            if Instant::now() >= self.due {
                self.read();
            }
            self.draw()?;
            let until = self.due.saturating_duration_since(Instant::now()).min(TICK);
            let stdin = io::stdin();
            let mut watched = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::new(wake, PollFlags::IN),
            ];
            match poll(&mut watched, Timespec::try_from(until).ok().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let [typed, woken] = watched.map(|one| !one.revents().is_empty());
            if woken {
                while matches!((&*wake).read(&mut buffer), Ok(1..)) {}
            }
            while let Ok(news) = heard.try_recv() {
                if let Some(end) = self.handle_news(news) {
                    return Ok(end);
                }
            }
            if !typed {
                continue;
            }
            let count = match rustix::io::read(io::stdin(), &mut buffer) {
                Ok(0) | Err(rustix::io::Errno::IO) => return Ok(None),
                Ok(count) => count,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            for piece in self.keys.pieces(&buffer[..count]) {
                // Asked for each: the first may begin or send an answer.
                let Some(key) = key(&piece, self.typing.is_some()) else {
                    continue;
                };
                if let Some(end) = self.handle_key(key) {
                    return Ok(end);
                }
            }
        }
    }

    fn handle_news(&mut self, news: News) -> End {
        match news {
            News::Event => self.due = self.due.min(Instant::now() + GATHERING),
            News::Unsubscribed => {
                self.subscribed = false;
                self.due = Instant::now();
            }
            News::Resized => {
                self.size = tty::size();
                self.drawn.clear();
            }
            News::Said(sentence) => {
                self.say(&sentence);
                self.due = Instant::now();
            }
            News::Ending(number) => return Some(Some(number)),
            News::TerminalLeft => {}
        }
        None
    }

    fn handle_key(&mut self, key: Key) -> End {
        if self.help && !matches!(key, Key::Leave) {
            self.help = false;
            return None;
        }
        match key {
            Key::Leave => return Some(None),
            Key::Quit => return Some(None),
            Key::Help => self.help = true,
            Key::Up => self.step(|at| at.saturating_sub(1)),
            Key::Down => self.step(|at| at + 1),
            Key::First => self.step(|_| 0),
            Key::Last => self.step(|_| usize::MAX),
            Key::Later => self.scrolled += usize::from(self.size.rows / 2),
            Key::Earlier => {
                self.scrolled = self
                    .scrolled
                    .saturating_sub(usize::from(self.size.rows / 2));
            }
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
        None
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
        self.ask(move |client| {
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
        self.ask(move |client| {
            let params = QuestionDismissParams {
                question: QuestionRef::Number(number),
                reason: None,
            };
            let done = client.call::<QuestionDismiss>(&params);
            done.map_err(|error| error.to_string())?;
            Ok(format!("{number} is dismissed; who asked goes on waiting."))
        });
    }

    /// Asks the daemon beside the loop, which hears what came of it.
    fn ask(&mut self, work: impl FnOnce(&mut Client) -> Result<String, String> + Send + 'static) {
        let (bell, home) = (self.bell.clone(), self.reach.home.clone());
        std::thread::spawn(move || {
            let client = Client::connect(&home).map_err(|error| error.to_string());
            let said = client.and_then(|mut client| work(&mut client));
            bell.ring(News::Said(said.unwrap_or_else(|why| why)));
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
                self.due = Instant::now() + AGAIN;
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
                self.subscribe();
            }
            Err(error) => {
                self.client = None;
                self.questions = None;
                self.due = Instant::now() + TICK;
                let sentence = missiond_core::one_line(&error.to_string());
                self.trouble = printable(&format!("{sentence}; trying again."));
            }
        }
    }

    fn subscribe(&mut self) {
        if self.subscribed {
            return;
        }
        let Ok(client) = self.reach.running() else {
            return;
        };
        let Ok(mut subscription) = client.subscribe(&SubscribeParams::default()) else {
            return;
        };
        self.subscribed = true;
        // What was asked before the subscription began.
        self.due = Instant::now();
        let bell = self.bell.clone();
        std::thread::spawn(move || {
            while let Ok(event) = subscription.next_event() {
                if event.event.kind().starts_with("question_") && !bell.ring(News::Event) {
                    return;
                }
            }
            bell.ring(News::Unsubscribed);
        });
    }

    fn say(&mut self, sentence: &str) {
        let sentence = printable(&missiond_core::one_line(sentence));
        self.notice = Some((sentence, Instant::now()));
    }

    fn draw(&mut self) -> Result<(), Failure> {
        self.notice = self.notice.take().filter(|(_, at)| at.elapsed() < NOTICE);
        let view = View {
            questions: self.questions.as_deref(),
            trouble: &self.trouble,
            now: missiond_core::Clock::now(&missiond_core::SystemClock),
            marked: self.marked,
            typing: self.typing.as_deref(),
            help: self.help,
            notice: self.notice.as_ref().map(|(text, _)| text.as_str()),
        };
        let picture = screen::draw(&view, &mut self.scrolled, self.size, self.paint);
        Ok(tty::draw(picture, &mut self.drawn)?)
    }
}

const NOTHING: &str = "Nothing is marked; j and k mark a question.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Permission {
    Once,
    Hour,
    No,
}
