//! The map: entries laid out on a plane by their vectors. It is drawn on a thread
//! of its own when somebody looks, and kept until the index changes; who asks
//! meanwhile waits for the one that is being drawn.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use missiond_core::{EntryCategory, EntryId, EntryMapLimit};
use missiond_knowledge::project;
use missiond_runtime::blocking;

use super::{Inner, Knowledge, KnowledgeError};

/// Bytes of a title: a whole map stays below what one message may hold.
const LONGEST_TITLE: usize = 100;

/// Entries on a plane, those alike near each other.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryMap {
    pub points: Vec<MapPoint>,
    /// Entries that have a vector; not all need be on the map.
    pub embedded: u64,
    /// Which share of the differences between entries the plane shows, 0 to 1.
    pub shown: f32,
    /// Why nothing can be laid out, when that is so.
    pub notice: Option<String>,
}

/// Where an entry lies, -1 to 1 both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct MapPoint {
    pub id: EntryId,
    pub x: f32,
    pub y: f32,
    pub category: EntryCategory,
    /// The beginning of what it says.
    pub title: String,
}

/// A map and the state of the index it is of.
#[derive(Debug)]
pub(super) struct CachedMap {
    changes: u64,
    points: Arc<[MapPoint]>,
    embedded: u64,
    shown: f32,
}

impl Knowledge {
    pub async fn map(&self, limit: EntryMapLimit) -> Result<EntryMap, KnowledgeError> {
        self.built().await;
        let mut kept = self.inner.map.lock().await;
        let changes = self.inner.changes.load(Ordering::SeqCst);
        let drawn = match kept.take() {
            Some(drawn) if drawn.changes == changes => drawn,
            _ => {
                let inner = Arc::clone(&self.inner);
                blocking(move || draw(&inner, changes)).await
            }
        };
        let drawn = kept.insert(drawn);
        let taken = drawn.points.len().min(limit.to_usize());
        let points = (0..taken)
            .map(|nth| drawn.points[nth * drawn.points.len() / taken].clone())
            .collect();
        Ok(EntryMap {
            points,
            embedded: drawn.embedded,
            shown: drawn.shown,
            notice: (taken == 0).then(|| self.nothing_to_map()),
        })
    }

    fn nothing_to_map(&self) -> String {
        if self.inner.read_index().corpus.is_empty() {
            return "nothing has been remembered yet".to_owned();
        }
        let problem = self.inner.models.problem();
        problem.unwrap_or_else(|| "no entry has a vector yet".to_owned())
    }
}

/// Lays out what the index holds. Only the vectors are read under its lock.
fn draw(inner: &Inner, changes: u64) -> CachedMap {
    let (mut points, mut rows) = (Vec::new(), Vec::new());
    let (dimension, embedded) = {
        let index = inner.read_index();
        for (document, vector) in index.corpus.sample(EntryMapLimit::LARGEST.to_usize()) {
            if let Ok(id) = document.id.parse() {
                points.push(MapPoint {
                    id,
                    x: 0.0,
                    y: 0.0,
                    category: document.category,
                    title: title(&document.text),
                });
                rows.extend(vector);
            }
        }
        let vectors = index.corpus.vectors();
        vectors.map_or((0, 0), |all| (all.dimension(), all.len() as u64))
    };
    let laid = project(&rows, dimension);
    for (point, [x, y]) in points.iter_mut().zip(laid.points) {
        (point.x, point.y) = (x, y);
    }
    CachedMap {
        changes,
        points: points.into(),
        embedded,
        shown: laid.shown,
    }
}

/// The beginning of the first line, without what would break a line.
fn title(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut title = String::new();
    for character in line.chars() {
        if title.len() + character.len_utf8() > LONGEST_TITLE {
            title.push('…');
            break;
        }
        title.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    title
}
