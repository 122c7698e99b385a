//! `mission status --watch`: the overview on a whole terminal, kept up to date.
//!
//! One loop reads the keys and draws. A thread of the timeline's subscription wakes it
//! when something happened, one of the signals when the terminal changed its size or
//! the command is to end, and one for each answer that is given. What wakes it comes
//! through a pair of sockets, so that keys are read by nobody else: while an agent's
//! terminal is open they are that terminal's.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use missiond_api::operations::NoParams;
use missiond_api::operations::access::WebLogin;
use missiond_api::operations::attention::{QuestionAnswer, QuestionAnswerParams};
use missiond_api::operations::overview::{
    Overview, OverviewLine, OverviewParams, OverviewReport, OverviewSeen, OverviewSeenParams,
};
use missiond_api::{Client, ClientError, SubscribeParams};
use missiond_core::{ErrorCode, QuestionRef, Text, Timestamp};
use missiond_semantic::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::keys::{Key, KeyReader};
use super::news::{Bell, News};
use super::screen::{self, Mode, View};
use super::selection::Selection;
use crate::commands::attach::tty::{self, AcquiredTerminal, Keyboard};
use crate::commands::signals::{self, Heard};
use crate::commands::web::open_in_browser;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Paint, printable};

/// Events come in flocks: what they add up to is asked for once.
const GATHERING: Duration = Duration::from_millis(150);
/// What an agent writes is no event; while one works it is looked at so often.
const WHILE_WORKING: Duration = Duration::from_secs(2);
const WHILE_QUIET: Duration = Duration::from_secs(30);
/// Times are counted on, and a daemon that is gone is looked for.
const TICK: Duration = Duration::from_secs(1);
const NOTICE: Duration = Duration::from_secs(6);

enum End {
    Quit,
    Left,
    Signal(i32),
}

pub(super) fn watch(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    if output.is_json() || !tty::stdin_is_terminal() || !tty::stdout_is_terminal() {
        let message = "`--watch` fills a terminal, and this is none";
        return Err(Failure::new(ErrorCode::InvalidParams, message)
            .hint("`mission status` prints it once, `mission timeline tail` prints what happens"));
    }
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
        overview: None,
        trouble: String::new(),
        read_at: Instant::now(),
        due: Instant::now(),
        keys: KeyReader::default(),
        selection: Selection::default(),
        mode: Mode::List,
        notice: None,
        drawn: Vec::new(),
        size: tty::size(),
        terminal: Some(tty::acquire(Keyboard::Raw)?),
    };
    let end = live.run(&awaken, &heard);
    drop(live.terminal.take());
    match end? {
        End::Quit => {
            live.mark_seen();
            Ok(ExitCode::SUCCESS)
        }
        End::Left => Ok(ExitCode::SUCCESS),
        End::Signal(number) => Ok(ExitCode::from(128 + u8::try_from(number).unwrap_or(0))),
    }
}

struct Live<'a> {
    reach: &'a Reach,
    paint: Paint,
    /// None while there is no daemon.
    client: Option<Client>,
    bell: Bell,
    subscribed: bool,
    overview: Option<OverviewReport>,
    /// Why there is none.
    trouble: String,
    /// When it was read.
    read_at: Instant,
    /// When it is read again.
    due: Instant,
    keys: KeyReader,
    selection: Selection,
    mode: Mode,
    notice: Option<(String, Instant)>,
    drawn: Vec<String>,
    size: Size,
    terminal: Option<AcquiredTerminal>,
}

impl Live<'_> {
    fn run(&mut self, wake: &UnixStream, heard: &Receiver<News>) -> Result<End, Failure> {
        let mut buffer = [0; 4096];
        loop {
            if Instant::now() >= self.due {
                self.read();
            }
            self.draw()?;
            let (typed, woken) = self.wait(wake)?;
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
                Ok(0) | Err(rustix::io::Errno::IO) => return Ok(End::Left),
                Ok(count) => count,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            for key in self.keys.read(&buffer[..count]) {
                if let Some(end) = self.handle_key(key, heard)? {
                    return Ok(end);
                }
            }
        }
    }

    /// Until a key, news, or the next moment at which something is to be done.
    fn wait(&self, wake: &UnixStream) -> Result<(bool, bool), Failure> {
        let until = self.due.saturating_duration_since(Instant::now()).min(TICK);
        let limit = Timespec::try_from(until).ok();
        let stdin = io::stdin();
        let mut watched = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(wake, PollFlags::IN),
        ];
        match poll(&mut watched, limit.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let [typed, woken] = watched.map(|one| !one.revents().is_empty());
        Ok((typed, woken))
    }

    fn handle_news(&mut self, news: News) -> Option<End> {
        match news {
            News::Event => self.due = self.due.min(self.read_at.max(Instant::now()) + GATHERING),
            News::Unsubscribed => {
                self.subscribed = false;
                self.due = Instant::now();
            }
            News::Resized => self.forget_picture(),
            News::Said(sentence) => {
                self.say(&sentence);
                self.due = Instant::now();
            }
            News::Ending(number) => return Some(End::Signal(number)),
            // Heard of by who opened it.
            News::TerminalLeft => {}
        }
        None
    }

    fn handle_key(&mut self, key: Key, heard: &Receiver<News>) -> Result<Option<End>, Failure> {
        if self.mode == Mode::Help && key != Key::Leave {
            self.mode = Mode::List;
            return Ok(None);
        }
        match key {
            Key::Quit => return Ok(Some(End::Quit)),
            Key::Leave => return Ok(Some(End::Left)),
            Key::Up => self.select(Selection::up),
            Key::Down => self.select(Selection::down),
            Key::First => self.select(|selection, lines| selection.select(lines, 0)),
            Key::Last => self.select(|selection, lines| selection.select(lines, usize::MAX)),
            Key::Help => self.mode = Mode::Help,
            Key::Details if self.mode == Mode::Details => self.mode = Mode::List,
            Key::Details => self.mode = Mode::Details,
            Key::Escape => self.mode = Mode::List,
            Key::Option(number) => self.answer(number),
            Key::Open => return self.open_terminal(heard),
            Key::Page => self.open_page(),
        }
        Ok(None)
    }

    /// Asks the daemon; without one, looks for it.
    fn read(&mut self) {
        let read = self.ask();
        let now = Instant::now();
        self.read_at = now;
        match read {
            Ok(overview) => {
                let pause = if overview.working.is_empty() && overview.idle.is_empty() {
                    WHILE_QUIET
                } else {
                    WHILE_WORKING
                };
                self.due = now + pause;
                self.overview = Some(overview);
                self.select(Selection::follow);
                self.subscribe();
            }
            Err(error) => {
                self.client = None;
                self.overview = None;
                self.due = now + TICK;
                self.trouble = said_of(&error);
            }
        }
    }

    fn ask(&mut self) -> Result<OverviewReport, ClientError> {
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(self.reach.running()?),
        };
        client.call::<Overview>(&OverviewParams::default())
    }

    /// Hears of what happens from now on. What happened since the overview was read
    /// is in the one that is read next.
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
        self.due = Instant::now();
        let bell = self.bell.clone();
        std::thread::spawn(move || {
            // That somebody asked is told too, and is not stored: to read again
            // because of what was read would never end.
            while let Ok(event) = subscription.next_event() {
                if event.seq.is_some() && !bell.ring(News::Event) {
                    return;
                }
            }
            bell.ring(News::Unsubscribed);
        });
    }

    fn lines(&self) -> Vec<&OverviewLine> {
        let overview = self.overview.as_ref();
        overview.map_or_else(Vec::new, |overview| screen::all(overview).collect())
    }

    fn current(&self) -> Option<&OverviewLine> {
        self.lines().get(self.selection.row()?).copied()
    }

    fn select(&mut self, change: impl FnOnce(&mut Selection, &[&OverviewLine])) {
        let mut selection = std::mem::take(&mut self.selection);
        change(&mut selection, &self.lines());
        self.selection = selection;
    }

    fn answer(&mut self, number: usize) {
        let Some(line) = self.current() else {
            self.say("Nothing is selected; j and k select.");
            return;
        };
        let Some(question) = line.question.clone() else {
            self.say("Nothing is asked there.");
            return;
        };
        let Some(option) = question.options.get(number - 1).cloned() else {
            let said = match question.options.len() {
                0 => format!("{} wants words: mission answer {0} \"…\"", question.number),
                n => format!("{} has the answers 1 to {n}.", question.number),
            };
            self.say(&said);
            return;
        };
        let (bell, home) = (self.bell.clone(), self.reach.home.clone());
        self.say(&format!("Answering {}: {option}", question.number));
        std::thread::spawn(move || {
            let given = Text::new(number.to_string()).map_err(|error| error.to_string());
            let answered = given.and_then(|answer| {
                let params = QuestionAnswerParams {
                    question: QuestionRef::Number(question.number),
                    answer,
                    by: None,
                    grant: None,
                };
                let client = Client::connect(&home);
                let answered = client.and_then(|mut client| client.call::<QuestionAnswer>(&params));
                answered.map_err(|error| error.to_string())
            });
            bell.ring(News::Said(match answered {
                Ok(result) => {
                    let answered = format!("{} is answered: {option}", question.number);
                    let held = result.held().map(|held| format!(". {held}"));
                    answered + &held.unwrap_or_default()
                }
                Err(why) => why,
            }));
        });
    }

    /// Gives the terminal to `mission slot attach` until that is left. A signal that
    /// ends the view ends it too.
    fn open_terminal(&mut self, heard: &Receiver<News>) -> Result<Option<End>, Failure> {
        let slot = self.current().and_then(|line| line.slot.clone());
        let Some(slot) = slot else {
            self.say("It has no terminal at the moment.");
            return Ok(None);
        };
        drop(self.terminal.take());
        let program = missiond_os::programs::own_program()?;
        let mut attach = Command::new(program);
        let end = match attach.args(["slot", "attach", &slot]).spawn() {
            Ok(mut attached) => {
                let end = self.wait_for_terminal(&attached, heard);
                if !attached.wait()?.success() && end.is_none() {
                    self.say(&format!("The terminal of {slot} could not be opened."));
                }
                end
            }
            Err(error) => {
                self.say(&format!("The terminal of {slot} was not opened: {error}"));
                None
            }
        };
        if end.is_none() {
            self.terminal = Some(tty::acquire(Keyboard::Raw)?);
            self.forget_picture();
            self.due = Instant::now();
        }
        Ok(end)
    }

    /// Until the opened terminal is left; how the view ends when that comes first.
    fn wait_for_terminal(&mut self, attached: &Child, heard: &Receiver<News>) -> Option<End> {
        let pid = Pid::from_child(attached);
        let bell = self.bell.clone();
        std::thread::spawn(move || {
            // It stays a child until this thread has spoken, so that its number is not
            // another's when a signal is passed on.
            let left = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), left), Err(rustix::io::Errno::INTR)) {}
            bell.ring(News::TerminalLeft);
        });
        let mut end = None;
        while let Ok(news) = heard.recv() {
            match news {
                News::TerminalLeft => break,
                News::Ending(number) => {
                    end = Some(End::Signal(number));
                    let _ = kill_process(pid, Signal::TERM);
                }
                other => end = self.handle_news(other).or(end),
            }
        }
        end
    }

    fn open_page(&mut self) {
        let Some(client) = &mut self.client else {
            return;
        };
        let opened = match client.call::<WebLogin>(&NoParams {}) {
            Ok(login) => {
                open_in_browser(&self.reach.home, &login.link).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        self.say(&match opened {
            Ok(()) => "The board opens in your browser.".to_owned(),
            Err(why) => format!("No browser was opened ({why}): `mission open --print`"),
        });
    }

    fn mark_seen(&mut self) {
        let Some(until) = self.overview.as_ref().map(|overview| overview.at) else {
            return;
        };
        if let Some(client) = &mut self.client {
            // It is seen again next time when this does not arrive.
            let _ = client.call::<OverviewSeen>(&OverviewSeenParams { until });
        }
    }

    fn say(&mut self, sentence: &str) {
        let sentence = printable(&missiond_core::one_line(sentence));
        self.notice = Some((sentence, Instant::now()));
    }

    fn forget_picture(&mut self) {
        self.size = tty::size();
        self.drawn.clear();
    }

    /// Writes the rows that have changed, as one update.
    fn draw(&mut self) -> Result<(), Failure> {
        self.notice = self.notice.take().filter(|(_, at)| at.elapsed() < NOTICE);
        let now = self.overview.as_ref().map_or_else(
            || Timestamp::from_micros(0),
            |overview| overview.at.plus(self.read_at.elapsed()),
        );
        let view = View {
            overview: self.overview.as_ref(),
            trouble: &self.trouble,
            now,
            selected: self.selection.row(),
            mode: self.mode,
            notice: self.notice.as_ref().map(|(text, _)| text.as_str()),
        };
        let picture = screen::draw(&view, self.size, self.paint);
        Ok(tty::draw(picture, &mut self.drawn)?)
    }
}

/// Why there is no overview, on one line.
fn said_of(error: &ClientError) -> String {
    match error {
        ClientError::NotRunning { .. } => "The daemon is not running; waiting for it.".to_owned(),
        error => {
            let sentence = format!("Nothing can be shown: {error}; trying again.");
            printable(&missiond_core::one_line(&sentence))
        }
    }
}
