//! Who watches a slot, what each is shown, and what size the slot has for them.
//!
//! A viewer asks for one frame at a time and gets it when its picture is no
//! longer true. One that is slow asks seldom, and its next frame leads to the
//! newest screen; so it never holds up the program or another viewer, and costs
//! one picture of memory however far it is behind.
//!
//! Whoever types holds the slot. A terminal that is attached to type just does;
//! a page asks first and is refused while somebody else holds it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use missiond_pty::{Keys, MAX_SIZE, MIN_SIZE, Painter, Terminal, View};
use missiond_semantic::Size;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

/// A program draws one picture in several writes; they are waited for this
/// long.
const GATHER: Duration = Duration::from_millis(3);
/// Between two frames of one viewer.
const FRAME_EVERY: Duration = Duration::from_millis(16);

/// Names a viewer for as long as the daemon lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewerId(pub u64);

impl ViewerId {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// What is sent to a viewer.
#[derive(Debug)]
pub enum ToViewer {
    /// What to write to its terminal, and the size that is to have.
    Frame { text: String, size: Size },
    /// The slot is closed; how it ended.
    Ended(String),
    /// The slot goes on, and has nothing to type to for whoever came to type; why.
    Dismissed(String),
}

/// A viewer's end. Dropping it is leaving.
#[derive(Debug)]
pub struct Viewing {
    pub id: ViewerId,
    frames: mpsc::Receiver<ToViewer>,
    wanted: Arc<AtomicBool>,
    bell: Arc<Notify>,
    holder: watch::Receiver<Option<ViewerId>>,
}

impl Viewing {
    /// Who types; changes whenever that does.
    pub fn holder(&self) -> watch::Receiver<Option<ViewerId>> {
        self.holder.clone()
    }

    /// The next frame, as the screen is when it is due. `None` when the daemon
    /// lets go of the slot.
    pub async fn next(&mut self) -> Option<ToViewer> {
        self.wanted.store(true, Ordering::Release);
        self.bell.notify_one();
        self.frames.recv().await
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        self.frames.close();
        self.bell.notify_one();
    }
}

#[derive(Debug)]
pub(super) struct Viewers {
    all: BTreeMap<ViewerId, Viewer>,
    /// Rung when a viewer wants a frame or has left.
    bell: Arc<Notify>,
    holder: watch::Sender<Option<ViewerId>>,
}

#[derive(Debug)]
struct Viewer {
    view: View,
    keys: Keys,
    /// It came to type, and has no other end: a terminal that is attached.
    came_to_type: bool,
    painter: Painter,
    frames: mpsc::Sender<ToViewer>,
    wanted: Arc<AtomicBool>,
    /// Since when its picture may be untrue.
    stale: Option<Instant>,
    /// Before this it gets no frame.
    rests_until: Instant,
}

impl Viewer {
    fn due(&self) -> Option<Instant> {
        let stale = self.stale?;
        let wanted = self.wanted.load(Ordering::Acquire);
        wanted.then(|| (stale + GATHER).max(self.rests_until))
    }

    /// Paints unless the picture is true already.
    fn show(&mut self, terminal: &Terminal, now: Instant) {
        self.stale = None;
        let text = self.painter.paint(terminal);
        if !text.is_empty() {
            self.wanted.store(false, Ordering::Release);
            self.rests_until = now + FRAME_EVERY;
            // One frame is asked for at a time, so there is room.
            let size = match self.view {
                View::Same => terminal.size(),
                View::Of(size) => size,
            };
            let _ = self.frames.try_send(ToViewer::Frame { text, size });
        }
    }
}

impl Viewers {
    pub(super) fn new() -> Self {
        Self {
            all: BTreeMap::new(),
            bell: Arc::default(),
            holder: watch::Sender::new(None),
        }
    }

    pub(super) fn holder(&self) -> watch::Receiver<Option<ViewerId>> {
        self.holder.subscribe()
    }

    pub(super) fn join(&mut self, view: View, keys: Keys, now: Instant) -> Viewing {
        let id = ViewerId::next();
        // A frame, and the end.
        let (frames, received) = mpsc::channel(2);
        let wanted = Arc::<AtomicBool>::default();
        let viewer = Viewer {
            view,
            keys,
            came_to_type: keys == Keys::Sent,
            painter: Painter::new(view, keys),
            frames,
            wanted: Arc::clone(&wanted),
            stale: Some(now),
            rests_until: now,
        };
        self.all.insert(id, viewer);
        self.notify_holder();
        Viewing {
            id,
            frames: received,
            wanted,
            bell: Arc::clone(&self.bell),
            holder: self.holder.subscribe(),
        }
    }

    /// Lets a viewer type, unless another one does. False when it may not, or is
    /// not there.
    pub(super) fn acquire_input(&mut self, id: ViewerId, now: Instant) -> bool {
        let other = |(known, viewer): (&ViewerId, &Viewer)| {
            *known != id && viewer.keys == Keys::Sent && !viewer.frames.is_closed()
        };
        if self.all.iter().any(other) {
            return false;
        }
        self.give_keys(id, Keys::Sent, now)
    }

    /// A viewer only looks from now on, at all of the slot's screen.
    pub(super) fn release(&mut self, id: ViewerId, now: Instant) -> bool {
        self.give_keys(id, Keys::NotSent, now)
    }

    fn give_keys(&mut self, id: ViewerId, keys: Keys, now: Instant) -> bool {
        let Some(viewer) = self.all.get_mut(&id) else {
            return false;
        };
        if viewer.keys != keys {
            viewer.keys = keys;
            if keys == Keys::NotSent {
                viewer.view = View::Same;
            }
            // Which modes its terminal needs has changed with it.
            viewer.painter = Painter::new(viewer.view, keys);
            viewer.stale.get_or_insert(now);
        }
        self.notify_holder();
        true
    }

    /// Nobody types any longer: who came for that is told why and leaves, and the others
    /// only look.
    pub(super) fn release_all(&mut self, why: &str, now: Instant) {
        let types = |(id, viewer): (&ViewerId, &Viewer)| (viewer.keys == Keys::Sent).then_some(*id);
        let typing: Vec<_> = self.all.iter().filter_map(types).collect();
        for id in typing {
            if self.all.get(&id).is_some_and(|viewer| viewer.came_to_type) {
                let viewer = self.all.remove(&id);
                let _ =
                    viewer.map(|gone| gone.frames.try_send(ToViewer::Dismissed(why.to_owned())));
                self.notify_holder();
            } else {
                self.release(id, now);
            }
        }
    }

    /// The first of those who type holds the slot.
    fn notify_holder(&self) {
        let types = |(_, viewer): &(&ViewerId, &Viewer)| viewer.keys == Keys::Sent;
        let holder = self.all.iter().find(types).map(|(id, _)| *id);
        self.holder.send_if_modified(|told| {
            let changed = *told != holder;
            *told = holder;
            changed
        });
    }

    /// The viewer's terminal has another size, so what it shows is unknown.
    /// False when there is no such viewer.
    pub(super) fn resize(&mut self, id: ViewerId, size: Size, now: Instant) -> bool {
        let Some(viewer) = self.all.get_mut(&id) else {
            return false;
        };
        viewer.view = View::Of(size);
        viewer.painter.start_over(viewer.view);
        viewer.stale.get_or_insert(now);
        true
    }

    /// The size for those who type: the smallest, so that each sees all of it.
    /// Without any of them the slot keeps the size it has.
    pub(super) fn size(&self) -> Option<Size> {
        let writing = self.all.values().filter(|viewer| viewer.keys == Keys::Sent);
        let sizes = writing.filter_map(|viewer| match viewer.view {
            View::Same => None,
            View::Of(size) => Some(size),
        });
        let smallest = sizes.reduce(|one, other| Size {
            columns: one.columns.min(other.columns),
            rows: one.rows.min(other.rows),
        })?;
        Some(Size {
            columns: smallest.columns.clamp(MIN_SIZE.columns, MAX_SIZE.columns),
            rows: smallest.rows.clamp(MIN_SIZE.rows, MAX_SIZE.rows),
        })
    }

    /// Forgets those who have left; tells whether there were any.
    pub(super) fn any(&self) -> bool {
        !self.all.is_empty()
    }

    pub(super) fn forget_departed(&mut self) -> bool {
        let before = self.all.len();
        self.all.retain(|_, viewer| !viewer.frames.is_closed());
        self.notify_holder();
        self.all.len() < before
    }

    /// The screen may have changed.
    pub(super) fn screen_changed(&mut self, now: Instant) {
        for viewer in self.all.values_mut() {
            viewer.stale.get_or_insert(now);
        }
    }

    /// When the next frame is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.all.values().filter_map(Viewer::due).min()
    }

    /// Sends the frames that are due.
    pub(super) fn show(&mut self, terminal: &Terminal, now: Instant) {
        let due = |viewer: &&mut Viewer| viewer.due().is_some_and(|due| due <= now);
        for viewer in self.all.values_mut().filter(due) {
            viewer.show(terminal, now);
        }
    }

    /// The slot is over: the last picture, and how it ended.
    pub(super) fn end(&mut self, terminal: &Terminal, outcome: &str) {
        let now = Instant::now();
        for viewer in self.all.values_mut() {
            if viewer.wanted.load(Ordering::Acquire) {
                viewer.show(terminal, now);
            }
            let _ = viewer.frames.try_send(ToViewer::Ended(outcome.to_owned()));
        }
        self.all.clear();
    }

    pub(super) fn bell(&self) -> Arc<Notify> {
        Arc::clone(&self.bell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(columns: u16, rows: u16) -> Size {
        Size { columns, rows }
    }

    fn wants(viewing: &Viewing) {
        viewing.wanted.store(true, Ordering::Release);
    }

    fn frame(viewing: &mut Viewing) -> Option<String> {
        match viewing.frames.try_recv() {
            Ok(ToViewer::Frame { text, .. }) => Some(text),
            Ok(ToViewer::Ended(_) | ToViewer::Dismissed(_)) | Err(_) => None,
        }
    }

    #[test]
    fn the_smallest_of_those_who_type_decides_the_size() {
        let now = Instant::now();
        let mut viewers = Viewers::new();
        let _reader = viewers.join(View::Of(size(10, 5)), Keys::NotSent, now);
        assert_eq!(viewers.size(), None);
        let one = viewers.join(View::Of(size(100, 20)), Keys::Sent, now);
        let other = viewers.join(View::Of(size(80, 40)), Keys::Sent, now);
        assert_eq!(viewers.size(), Some(size(80, 20)));
        assert!(viewers.resize(one.id, size(70, 50), now));
        assert_eq!(viewers.size(), Some(size(70, 40)));
        let left = one.id;
        drop(one);
        assert!(viewers.forget_departed());
        assert!(!viewers.resize(left, size(9, 9), now));
        assert_eq!(viewers.size(), Some(size(80, 40)));
        drop(other);
        assert!(viewers.forget_departed());
        assert_eq!(viewers.size(), None);
    }

    #[test]
    fn one_at_a_time_types_and_everybody_is_told_who() {
        let now = Instant::now();
        let mut viewers = Viewers::new();
        let one = viewers.join(View::Same, Keys::NotSent, now);
        let other = viewers.join(View::Same, Keys::NotSent, now);
        let holder = one.holder();
        assert!(viewers.acquire_input(one.id, now) && viewers.acquire_input(one.id, now));
        assert!(!viewers.acquire_input(other.id, now));
        assert_eq!(*holder.borrow(), Some(one.id));
        assert!(viewers.release(one.id, now));
        assert_eq!(*holder.borrow(), None);
        assert!(viewers.acquire_input(other.id, now));
        let left = other.id;
        drop(other);
        assert!(
            viewers.acquire_input(one.id, now),
            "whoever has left holds nothing"
        );
        viewers.forget_departed();
        assert_eq!(*holder.borrow(), Some(one.id));
        assert!(!viewers.acquire_input(left, now));
        assert!(viewers.resize(one.id, size(70, 20), now));
        assert_eq!(viewers.size(), Some(size(70, 20)));
        assert!(viewers.release(one.id, now));
        assert_eq!(viewers.size(), None);
    }

    #[test]
    fn a_viewer_that_asks_for_nothing_costs_one_frame_and_gets_the_newest_screen() {
        let mut now = Instant::now();
        let mut terminal = Terminal::new(size(20, 3));
        let mut viewers = Viewers::new();
        let mut slow = viewers.join(View::Of(size(20, 3)), Keys::NotSent, now);
        let mut quick = viewers.join(View::Of(size(20, 3)), Keys::NotSent, now);
        wants(&slow);
        let mut seen = 0;
        for number in 0..100 {
            terminal.feed(format!("\r\x1b[K<{number}>").as_bytes(), Duration::ZERO);
            viewers.screen_changed(now);
            wants(&quick);
            now += FRAME_EVERY;
            viewers.show(&terminal, now);
            seen += usize::from(frame(&mut quick).is_some());
        }
        assert_eq!(seen, 100);
        assert!(frame(&mut slow).unwrap().contains("<0>"));
        assert_eq!(frame(&mut slow), None);
        wants(&slow);
        viewers.show(&terminal, now);
        let painted = frame(&mut slow).unwrap();
        assert!(painted.contains("99") && !painted.contains("98"));
    }
}
