//! `mission status --watch`: the overview on a whole terminal, kept up to date.
//!
//! One loop reads the keys and draws. A thread of the timeline's subscription wakes it
//! when something happened, one of the signals when the terminal changed its size or
//! the command is to end, and one for each answer that is given. What wakes it comes
//! through a pair of sockets, so that keys are read by nobody else: while an agent's
//! terminal is open they are that terminal's.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use missiond_api::operations::NoParams;
use missiond_api::operations::access::WebLogin;
use missiond_api::operations::attention::{QuestionAnswer, QuestionAnswerParams};
use missiond_api::operations::overview::{
    Overview, OverviewLine, OverviewParams, OverviewReport, OverviewSeen, OverviewSeenParams,
};
use missiond_api::{Client, SubscribeParams};
use missiond_core::{ErrorCode, QuestionRef, Text, Timestamp};
use missiond_semantic::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::keys::{Key, keys};
use super::screen::{self, Mode, View};
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

/// What wakes the loop beside keys.
enum News {
    /// Something is on the timeline.
    Event,
    /// The subscription has ended.
    Unsubscribed,
    Resized,
    Ending(i32),
    /// What came of an answer, as a sentence.
    Said(String),
}

/// How others wake the loop.
#[derive(Clone)]
struct Bell {
    news: Sender<News>,
    wake: std::sync::Arc<UnixStream>,
}

impl Bell {
    fn ring(&self, news: News) -> bool {
        let sent = self.news.send(news).is_ok();
        // A full pipe wakes as well as another byte in it.
        let _ = (&*self.wake).write(&[1]);
        sent
    }
}

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
        wake: std::sync::Arc::new(wake),
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
        read_at: Instant::now(),
        due: Instant::now(),
        selected: 0,
        chosen: None,
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
    /// When it was read.
    read_at: Instant,
    /// When it is read again.
    due: Instant,
    selected: usize,
    /// What the selected line is about: it is found again when lines move.
    chosen: Option<String>,
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
            for key in keys(&buffer[..count]) {
                if let Some(end) = self.handle_key(key)? {
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
        }
        None
    }

    fn handle_key(&mut self, key: Key) -> Result<Option<End>, Failure> {
        if self.mode == Mode::Help && key != Key::Leave {
            self.mode = Mode::List;
            return Ok(None);
        }
        match key {
            Key::Quit => return Ok(Some(End::Quit)),
            Key::Leave => return Ok(Some(End::Left)),
            Key::Up => self.select(self.selected.saturating_sub(1)),
            Key::Down => self.select(self.selected + 1),
            Key::First => self.select(0),
            Key::Last => self.select(usize::MAX),
            Key::Help => self.mode = Mode::Help,
            Key::Details if self.mode == Mode::Details => self.mode = Mode::List,
            Key::Details => self.mode = Mode::Details,
            Key::Escape => self.mode = Mode::List,
            Key::Option(number) => self.answer(number),
            Key::Open => self.open_terminal()?,
            Key::Page => self.open_page(),
        }
        Ok(None)
    }

    /// Asks the daemon; without one, looks for it.
    fn read(&mut self) {
        if self.client.is_none() {
            self.client = self.reach.running().ok();
        }
        let read = self
            .client
            .as_mut()
            .map(|client| client.call::<Overview>(&OverviewParams::default()));
        let now = Instant::now();
        self.read_at = now;
        match read {
            Some(Ok(overview)) => {
                let pause = if overview.working.is_empty() {
                    WHILE_QUIET
                } else {
                    WHILE_WORKING
                };
                self.due = now + pause;
                self.overview = Some(overview);
                self.find_chosen();
                self.subscribe();
            }
            _ => {
                self.client = None;
                self.overview = None;
                self.due = now + TICK;
            }
        }
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
        self.lines().get(self.selected).copied()
    }

    fn select(&mut self, wanted: usize) {
        let last = self.lines().len().saturating_sub(1);
        self.selected = wanted.min(last);
        self.chosen = self.current().map(identity);
    }

    /// The line that was chosen, wherever it stands now.
    fn find_chosen(&mut self) {
        let chosen = self.chosen.as_ref();
        let found = chosen.and_then(|chosen| {
            let lines = self.lines();
            lines.iter().position(|line| identity(line) == *chosen)
        });
        self.select(found.unwrap_or(self.selected));
    }

    fn answer(&mut self, number: usize) {
        let question = self.current().and_then(|line| line.question.clone());
        let Some(question) = question else {
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
                Ok(_) => format!("{} is answered: {option}", question.number),
                Err(why) => why,
            }));
        });
    }

    /// Gives the terminal to `mission slot attach` until that is left.
    fn open_terminal(&mut self) -> Result<(), Failure> {
        let slot = self.current().and_then(|line| line.slot.clone());
        let Some(slot) = slot else {
            self.say("It has no terminal at the moment.");
            return Ok(());
        };
        drop(self.terminal.take());
        let program = std::env::current_exe()?;
        let attached = Command::new(program)
            .args(["slot", "attach", &slot])
            .status();
        self.terminal = Some(tty::acquire(Keyboard::Raw)?);
        self.forget_picture();
        self.due = Instant::now();
        match attached {
            Ok(status) if status.success() => {}
            Ok(_) => self.say(&format!("The terminal of {slot} could not be opened.")),
            Err(error) => self.say(&format!("The terminal of {slot} was not opened: {error}")),
        }
        Ok(())
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
            now,
            selected: self.selected,
            mode: self.mode,
            notice: self.notice.as_ref().map(|(text, _)| text.as_str()),
        };
        let picture = screen::draw(&view, self.size, self.paint);
        let whole = self.drawn.is_empty();
        let mut frame = String::new();
        for (at, row) in picture.iter().enumerate() {
            if whole || self.drawn.get(at) != Some(row) {
                frame.push_str(&format!("\x1b[{};1H{row}\x1b[0m\x1b[K", at + 1));
            }
        }
        if frame.is_empty() {
            return Ok(());
        }
        let clear = if whole { "\x1b[2J\x1b[?25l" } else { "" };
        tty::write(&format!("\x1b[?2026h{clear}{frame}\x1b[?2026l"))?;
        self.drawn = picture;
        Ok(())
    }
}

/// What a line is about, however it changes.
fn identity(line: &OverviewLine) -> String {
    match (&line.question, line.task, line.execution, &line.slot) {
        (Some(question), ..) => question.number.to_string(),
        (None, Some(task), ..) => task.to_string(),
        (None, None, Some(run), _) => run.to_string(),
        (None, None, None, Some(slot)) => slot.clone(),
        _ => line.title.clone(),
    }
}
