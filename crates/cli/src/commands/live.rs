//! A view that fills the terminal and is kept up to date.
//!
//! One loop reads the keys and draws. A thread of the timeline's subscription wakes it
//! when something happened, one of the signals when the terminal changed its size or
//! the command is to end, and one for each question to the daemon. What wakes it comes
//! through a pair of sockets, so that keys are read by nobody else: while another program
//! has the terminal they are that program's.

mod keys;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use missiond_api::{Client, Home, SubscribeParams};
use missiond_core::TimelineEvent;
use missiond_semantic::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::attach::tty::{self, AcquiredTerminal, Keyboard};
use super::signals::{self, Heard};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::printable;
pub(super) use keys::KeyReader;

/// Events come in flocks: what they add up to is asked for once.
const GATHERING: Duration = Duration::from_millis(100);
/// Times are counted on, and a daemon that is gone is looked for.
const TICK: Duration = Duration::from_secs(1);
const NOTICE: Duration = Duration::from_secs(6);

/// Whether there is a terminal to fill.
pub(super) fn fits(output: &Output) -> bool {
    !output.is_json() && tty::stdin_is_terminal() && tty::stdout_is_terminal()
}

/// What the view is to do next.
pub(super) enum Input {
    /// A key, as the terminal sends it.
    Key(Vec<u8>),
    End(End),
}

/// How the view ends, where no key of its own ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The terminal is gone.
    Left,
    Signal(i32),
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        match end {
            End::Left => Self::SUCCESS,
            End::Signal(number) => Self::from(128 + u8::try_from(number).unwrap_or(0)),
        }
    }
}

/// What came of giving the terminal to another program.
pub(super) enum Lent {
    NotStarted(io::Error),
    Left { well: bool },
    End(End),
}

/// What wakes the loop beside keys.
enum News {
    /// Something that concerns the view is on the timeline.
    Event,
    /// The subscription has ended.
    Unsubscribed,
    Resized,
    Ending(i32),
    /// What came of a question to the daemon, as a sentence.
    Said(String),
    /// The program that had the terminal has ended.
    Returned,
}

/// How other threads wake the loop.
#[derive(Clone)]
struct Bell {
    news: Sender<News>,
    wake: Arc<UnixStream>,
}

impl Bell {
    fn ring(&self, news: News) -> bool {
        let sent = self.news.send(news).is_ok();
        // A full pipe wakes as well as another byte in it.
        let _ = (&*self.wake).write(&[1]);
        sent
    }
}

pub(super) struct LiveTerminal {
    /// None while another program has it.
    terminal: Option<AcquiredTerminal>,
    size: Size,
    /// The rows that are on it.
    drawn: Vec<String>,
    keys: KeyReader,
    notice: Option<(String, Instant)>,
    /// When the view reads again what it shows.
    due: Instant,
    bell: Bell,
    awaken: UnixStream,
    heard: Receiver<News>,
    subscribed: bool,
}

impl LiveTerminal {
    pub(super) fn acquire() -> Result<Self, Failure> {
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
        Ok(Self {
            terminal: Some(tty::acquire(Keyboard::Raw)?),
            size: tty::size(),
            drawn: Vec::new(),
            keys: KeyReader::default(),
            notice: None,
            due: Instant::now(),
            bell,
            awaken,
            heard,
            subscribed: false,
        })
    }

    /// Gives the terminal back as it was.
    pub(super) fn release(&mut self) {
        drop(self.terminal.take());
    }

    pub(super) const fn size(&self) -> Size {
        self.size
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// What is shown was read, and is read again after this pause or when there is news.
    pub(super) fn was_read(&mut self, pause: Duration) {
        self.due = Instant::now() + pause;
    }

    /// It could not be read, and is tried again soon.
    pub(super) fn was_not_read(&mut self) {
        self.was_read(TICK);
    }

    fn is_stale(&mut self) {
        self.due = Instant::now();
    }

    /// Waits until there is something to do: what was typed, or nothing when the picture is
    /// to be drawn again.
    pub(super) fn wait(&mut self) -> Result<Vec<Input>, Failure> {
        let until = self.due.saturating_duration_since(Instant::now()).min(TICK);
        let stdin = io::stdin();
        let mut watched = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(&self.awaken, PollFlags::IN),
        ];
        match poll(&mut watched, Timespec::try_from(until).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let [typed, woken] = watched.map(|one| !one.revents().is_empty());
        let mut buffer = [0; 4096];
        if woken {
            while matches!((&self.awaken).read(&mut buffer), Ok(1..)) {}
        }
        while let Ok(news) = self.heard.try_recv() {
            if let Some(end) = self.handle(news) {
                return Ok(vec![Input::End(end)]);
            }
        }
        if !typed {
            return Ok(Vec::new());
        }
        match rustix::io::read(&stdin, &mut buffer) {
            Ok(0) | Err(Errno::IO) => Ok(vec![Input::End(End::Left)]),
            Ok(count) => {
                let pieces = self.keys.pieces(&buffer[..count]);
                Ok(pieces.into_iter().map(Input::Key).collect())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn handle(&mut self, news: News) -> Option<End> {
        match news {
            News::Event => self.due = self.due.min(Instant::now() + GATHERING),
            News::Unsubscribed => {
                self.subscribed = false;
                self.is_stale();
            }
            News::Resized => self.forget_picture(),
            News::Said(sentence) => {
                self.say(&sentence);
                self.is_stale();
            }
            News::Ending(number) => return Some(End::Signal(number)),
            // Heard of by who lent the terminal.
            News::Returned => {}
        }
        None
    }

    /// Hears of what happens from now on, as far as it is news to the view. What happened
    /// since the view was read is in what is read next.
    pub(super) fn subscribe(&mut self, reach: &Reach, is_news: fn(&TimelineEvent) -> bool) {
        if self.subscribed {
            return;
        }
        let Ok(client) = reach.running() else {
            return;
        };
        let Ok(mut subscription) = client.subscribe(&SubscribeParams::default()) else {
            return;
        };
        self.subscribed = true;
        self.is_stale();
        let bell = self.bell.clone();
        std::thread::spawn(move || {
            while let Ok(event) = subscription.next_event() {
                if is_news(&event) && !bell.ring(News::Event) {
                    return;
                }
            }
            bell.ring(News::Unsubscribed);
        });
    }

    /// Asks the daemon beside the loop; what came of it is said.
    pub(super) fn ask(
        &self,
        home: &Home,
        work: impl FnOnce(&mut Client) -> Result<String, String> + Send + 'static,
    ) {
        let (bell, home) = (self.bell.clone(), home.clone());
        std::thread::spawn(move || {
            let client = Client::connect(&home).map_err(|error| error.to_string());
            let said = client.and_then(|mut client| work(&mut client));
            bell.ring(News::Said(said.unwrap_or_else(|why| why)));
        });
    }

    /// Gives the terminal to another program until that ends. A signal that ends the view
    /// ends it too.
    pub(super) fn lend(&mut self, program: &mut Command) -> Result<Lent, Failure> {
        self.release();
        let lent = match program.spawn() {
            Ok(mut child) => {
                let end = self.wait_for(&child);
                let well = child.wait()?.success();
                end.map_or(Lent::Left { well }, Lent::End)
            }
            Err(error) => Lent::NotStarted(error),
        };
        if !matches!(lent, Lent::End(_)) {
            self.terminal = Some(tty::acquire(Keyboard::Raw)?);
            self.forget_picture();
            self.is_stale();
        }
        Ok(lent)
    }

    /// Until the program has ended; how the view ends when that comes first.
    fn wait_for(&mut self, child: &Child) -> Option<End> {
        let pid = Pid::from_child(child);
        let bell = self.bell.clone();
        std::thread::spawn(move || {
            // It stays a child until this thread has spoken, so that its number is not
            // another's when a signal is passed on.
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), ended), Err(Errno::INTR)) {}
            bell.ring(News::Returned);
        });
        let mut end = None;
        while let Ok(news) = self.heard.recv() {
            match news {
                News::Returned => break,
                news => {
                    if let Some(ended) = self.handle(news) {
                        end = Some(ended);
                        let _ = kill_process(pid, Signal::TERM);
                    }
                }
            }
        }
        end
    }

    /// Shows a sentence for a moment.
    pub(super) fn say(&mut self, sentence: &str) {
        let sentence = printable(&missiond_core::one_line(sentence));
        self.notice = Some((sentence, Instant::now()));
    }

    /// The sentence that is shown now.
    pub(super) fn notice(&mut self) -> Option<String> {
        self.notice = self.notice.take().filter(|(_, at)| at.elapsed() < NOTICE);
        self.notice.as_ref().map(|(sentence, _)| sentence.clone())
    }

    fn forget_picture(&mut self) {
        self.size = tty::size();
        self.drawn.clear();
    }

    /// Writes the rows that have changed, as one update.
    pub(super) fn draw(&mut self, picture: Vec<String>) -> Result<(), Failure> {
        Ok(tty::draw(picture, &mut self.drawn)?)
    }
}
