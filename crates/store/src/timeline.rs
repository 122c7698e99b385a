//! The event log: what happened, in the order it became durable.
//!
//! `seq` is 1, 2, 3 … without holes, and an event becomes visible only after
//! every event before it: whoever appends first takes the one row of
//! `timeline_head` and keeps it until the commit. So a reader that has seen
//! event *n* will never find a new event below *n*.
//!
//! An event of a kind this version does not know stays in the log and is left
//! out of what is read. A [`Page`] says how many were left out and how far it
//! looked, so that a cursor passes them.

use std::io::Write;

use missiond_core::{
    Category, DaemonId, Event, Seq, TimelineEvent, Timestamp, TraceContext, TraceId,
};

use missiond_os::hex;
use sha2::{Digest, Sha256};

use crate::sqlite::SqliteConnection;
use crate::tx::Link;
use crate::{Row, StoreError, Tx, Value};

/// An event to be appended, without the secrets it came with. The store gives it its
/// place.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub at: Timestamp,
    /// The daemon that saw it happen.
    pub daemon: DaemonId,
    pub trace: TraceContext,
    pub(crate) event: Event,
}

/// The event as it may be stored and told. One whose secrets cannot be masked is neither.
pub fn masked(event: Event) -> Result<Event, StoreError> {
    let kind = event.kind();
    missiond_secrets::mask_value(event).map_err(|_| StoreError::InvalidValue {
        detail: format!("the secrets of a {kind} event cannot be masked"),
    })
}

impl NewEvent {
    pub fn new(
        at: Timestamp,
        daemon: DaemonId,
        trace: TraceContext,
        event: Event,
    ) -> Result<Self, StoreError> {
        let event = masked(event)?;
        Ok(Self {
            at,
            daemon,
            trace,
            event,
        })
    }

    /// The event as it stands in the timeline.
    #[must_use]
    pub fn at_seq(self, seq: Seq) -> TimelineEvent {
        let Self {
            at,
            daemon,
            trace,
            event,
        } = self;
        TimelineEvent {
            seq: Some(seq),
            at,
            daemon,
            trace,
            event,
        }
    }
}

/// Events, and how far the reading of them went.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub events: Vec<TimelineEvent>,
    /// Rows that hold an event this version cannot read; a newer daemon wrote
    /// them. They are not in `events`, and will not be offered again to a
    /// consumer that has passed them.
    pub unreadable: u64,
    /// The last row looked at, readable or not: where to go on from. It is
    /// absent when there was no row at all.
    pub reached: Option<Seq>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortOrder {
    #[default]
    OldestFirst,
    NewestFirst,
}

/// Which events to read. The default is all of them, oldest first, at most 100.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineFilter {
    /// Any of these kinds; empty means every kind.
    pub kinds: Vec<String>,
    /// Any of these categories; empty means every category.
    pub categories: Vec<Category>,
    pub trace_id: Option<TraceId>,
    /// At this moment or later.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    /// Beyond this place in the log.
    pub after: Option<Seq>,
    /// Short of this place in the log.
    pub before: Option<Seq>,
    pub limit: u32,
    pub order: SortOrder,
}

impl Default for TimelineFilter {
    fn default() -> Self {
        Self {
            kinds: Vec::new(),
            categories: Vec::new(),
            trace_id: None,
            since: None,
            until: None,
            after: None,
            before: None,
            limit: 100,
            order: SortOrder::default(),
        }
    }
}

/// Appends within a transaction, so that an event and the change it tells of
/// are kept or lost together. Do it last: from here to the commit nobody else
/// on this database can append.
pub async fn append(tx: &mut Tx<'_>, events: &[NewEvent]) -> Result<Vec<Seq>, StoreError> {
    let events = encode(events)?;
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let inserted = match tx.link() {
        Link::Sqlite(connection) => append_sqlite(connection, &events),
        Link::Postgres(connection) => connection.insert_events_in_transaction(&events).await,
    };
    let head = tx.track_failure(inserted)?;
    tx.set_new_head(head);
    Ok(sequence_range(head, events.len()))
}

/// The newest event's place; 0 when there has been none.
pub async fn head(tx: &mut Tx<'_>) -> Result<Seq, StoreError> {
    let row = tx
        .query_one("SELECT seq FROM timeline_head WHERE id = 1", &[])
        .await?;
    row.ok_or_else(|| StoreError::internal("timeline_head is empty"))?
        .get(0)
}

/// The events after `after`, oldest first, from at most `limit` rows.
pub async fn read_after(tx: &mut Tx<'_>, after: Seq, limit: u32) -> Result<Page, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM system_timeline WHERE seq > $1 ORDER BY seq LIMIT $2");
    Ok(page(&tx.query(&sql, &[after.into(), limit.into()]).await?))
}

/// The events a filter lets through, from at most `limit` rows.
pub async fn query(tx: &mut Tx<'_>, filter: &TimelineFilter) -> Result<Page, StoreError> {
    let (sql, params) = selection(filter);
    Ok(page(&tx.query(&sql, &params).await?))
}

/// How many events there are from `first` to `last`, and SHA-256 over all that stands in
/// their rows, in hexadecimal digits.
pub async fn digest(tx: &mut Tx<'_>, first: Seq, last: Seq) -> Result<(u64, String), StoreError> {
    let sql = "SELECT seq, at, daemon, trace_id, span_id, parent_span_id, kind, category, payload \
         FROM system_timeline WHERE seq >= $1 AND seq <= $2 ORDER BY seq";
    let rows = tx.query(sql, &[first.into(), last.into()]).await?;
    let mut hash = Sha256::new();
    for row in &rows {
        for number in 0..2 {
            hash.update(row.get::<i64>(number)?.to_le_bytes());
        }
        for text in 2..9 {
            let text = row.get::<Option<String>>(text)?;
            // Its length first, so that no two rows are the same bytes.
            let length = text.as_ref().map_or(u64::MAX, |text| text.len() as u64);
            hash.update(length.to_le_bytes());
            hash.update(text.unwrap_or_default());
        }
    }
    Ok((rows.len() as u64, hex::encode(&hash.finalize())))
}

/// Every event of one causal chain, oldest first.
pub async fn trace(tx: &mut Tx<'_>, trace_id: TraceId) -> Result<Vec<TimelineEvent>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM system_timeline WHERE trace_id = $1 ORDER BY seq");
    Ok(page(&tx.query(&sql, &[Value::written(trace_id)]).await?).events)
}

const COLUMNS: &str = "seq, at, daemon, trace_id, span_id, parent_span_id, payload";

const HEAD: &str = "SELECT seq FROM timeline_head WHERE id = 1";

pub(crate) const HEAD_AND_LAST: &str = "SELECT head.seq, \
     (SELECT coalesce(max(seq), 0) FROM system_timeline) FROM timeline_head head WHERE id = 1";

/// An event in the words of its row, ready to be bound. Its texts stand one
/// after the other in one allocation: it is made on one thread and freed on
/// another, which is what allocators like least.
#[derive(Debug)]
pub(crate) struct EncodedEvent {
    pub(crate) at: i64,
    pub(crate) kind: &'static str,
    pub(crate) category: &'static str,
    text: String,
    /// Where the daemon, the trace, the span and the parent end in `text`; the
    /// payload is the rest.
    ends: [usize; 4],
}

impl EncodedEvent {
    fn between(&self, from: usize, to: usize) -> &str {
        &self.text[from..to]
    }

    pub(crate) fn daemon(&self) -> &str {
        self.between(0, self.ends[0])
    }

    pub(crate) fn trace_id(&self) -> &str {
        self.between(self.ends[0], self.ends[1])
    }

    pub(crate) fn span_id(&self) -> &str {
        self.between(self.ends[1], self.ends[2])
    }

    pub(crate) fn parent_span_id(&self) -> Option<&str> {
        Some(self.between(self.ends[2], self.ends[3])).filter(|text| !text.is_empty())
    }

    pub(crate) fn payload(&self) -> &str {
        self.between(self.ends[3], self.text.len())
    }
}

/// The largest payload that is stored. More belongs into a file or a table of
/// its own, with an event that names it.
const LARGEST_PAYLOAD: usize = 16 << 20;

pub(crate) fn encode(events: &[NewEvent]) -> Result<Vec<EncodedEvent>, StoreError> {
    events.iter().map(encode_one).collect()
}

fn encode_one(new: &NewEvent) -> Result<EncodedEvent, StoreError> {
    let spec = new.event.spec();
    if !new.event.is_persistent() {
        return Err(StoreError::InvalidValue {
            detail: format!("{} events are told and forgotten, never stored", spec.kind),
        });
    }
    let mut text = Vec::with_capacity(384);
    let mut ends = [0; 4];
    let ids: [Option<&dyn std::fmt::Display>; 4] = [
        Some(&new.daemon),
        Some(&new.trace.trace_id),
        Some(&new.trace.span_id),
        new.trace
            .parent_span_id
            .as_ref()
            .map(|id| id as &dyn std::fmt::Display),
    ];
    let unwritable = |error: String| StoreError::internal(format!("{}: {error}", spec.kind));
    for (id, end) in ids.into_iter().zip(&mut ends) {
        if let Some(id) = id {
            write!(text, "{id}").map_err(|error| unwritable(error.to_string()))?;
        }
        *end = text.len();
    }
    serde_json::to_writer(&mut text, &new.event).map_err(|error| unwritable(error.to_string()))?;
    if text.len() - ends[3] > LARGEST_PAYLOAD {
        return Err(StoreError::InvalidValue {
            detail: format!(
                "a {} event of more than {} MiB",
                spec.kind,
                LARGEST_PAYLOAD >> 20
            ),
        });
    }
    Ok(EncodedEvent {
        at: new.at.as_micros(),
        kind: spec.kind,
        category: category_name(spec.category),
        text: String::from_utf8(text).map_err(|error| unwritable(error.to_string()))?,
        ends,
    })
}

/// The places of the `count` events that end at `head`.
pub(crate) fn sequence_range(head: Seq, count: usize) -> Vec<Seq> {
    (head.0 - count as i64 + 1..=head.0).map(Seq).collect()
}

/// The parameters of [`INSERT_ONE`], in its order.
macro_rules! sqlite_params {
    ($seq:expr, $event:expr) => {
        rusqlite::params![
            $seq,
            $event.at,
            $event.daemon(),
            $event.trace_id(),
            $event.span_id(),
            $event.parent_span_id(),
            $event.kind,
            $event.category,
            $event.payload(),
        ]
    };
}
#[cfg(feature = "baseline")]
pub(crate) use sqlite_params;

/// Inserts after `head` within the open transaction, and leaves the row of
/// `timeline_head` to [`set_head_sqlite`].
pub(crate) fn insert_sqlite(
    connection: &mut SqliteConnection,
    head: Seq,
    events: &[EncodedEvent],
) -> Result<(), StoreError> {
    connection.insert_each(
        INSERT_ONE,
        (head.0 + 1..).zip(events),
        |statement, (seq, event)| statement.execute(sqlite_params!(seq, event)),
    )
}

pub(crate) fn set_head_sqlite(
    connection: &mut SqliteConnection,
    head: Seq,
) -> Result<(), StoreError> {
    let sql = "UPDATE timeline_head SET seq = $1 WHERE id = 1";
    connection.execute(sql, &[head.into()]).map(drop)
}

pub(crate) fn head_sqlite(connection: &mut SqliteConnection) -> Result<Seq, StoreError> {
    let rows = connection.query(HEAD, &[])?;
    rows.first()
        .ok_or_else(|| StoreError::internal("timeline_head is empty"))?
        .get(0)
}

fn append_sqlite(
    connection: &mut SqliteConnection,
    events: &[EncodedEvent],
) -> Result<Seq, StoreError> {
    let before = head_sqlite(connection)?;
    let head = Seq(before.0 + events.len() as i64);
    insert_sqlite(connection, before, events)?;
    set_head_sqlite(connection, head)?;
    Ok(head)
}

pub(crate) const INSERT_ONE: &str = "INSERT INTO system_timeline \
     (seq, at, daemon, trace_id, span_id, parent_span_id, kind, category, payload) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

/// One statement for the head and the events: alone it is a transaction of its
/// own, in one round trip, and the head's row is locked no longer than needed.
pub(crate) const INSERT_MANY: &str = "WITH head AS ( \
         UPDATE timeline_head SET seq = seq + $1 WHERE id = 1 RETURNING seq \
     ), added AS ( \
         INSERT INTO system_timeline \
             (seq, at, daemon, trace_id, span_id, parent_span_id, kind, category, payload) \
         SELECT head.seq - $1 + event.place, event.at, event.daemon, event.trace_id, \
             event.span_id, event.parent_span_id, event.kind, event.category, event.payload \
         FROM head, UNNEST($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], \
             $7::text[], $8::text[], $9::text[]) WITH ORDINALITY AS event \
             (at, daemon, trace_id, span_id, parent_span_id, kind, category, payload, place) \
     ) SELECT seq FROM head";

fn selection(filter: &TimelineFilter) -> (String, Vec<Value>) {
    let mut sql = format!("SELECT {COLUMNS} FROM system_timeline");
    let mut params = Vec::new();
    let mut joint = " WHERE ";
    let mut add = |column: &str, operator: &str, values: Vec<Value>| {
        let first = params.len() + 1;
        params.extend(values);
        let marks: Vec<_> = (first..=params.len()).map(|n| format!("${n}")).collect();
        sql.push_str(&format!(
            "{joint}{column} {operator} ({})",
            marks.join(", ")
        ));
        joint = " AND ";
    };
    let mut categories = filter.categories.clone();
    if !filter.kinds.is_empty() {
        add("kind", "IN", filter.kinds.iter().map(Value::from).collect());
        // The index is by category, and a known kind has exactly one.
        let known = filter
            .kinds
            .iter()
            .map(|kind| missiond_core::kind_spec(kind));
        if let (true, Some(known)) = (categories.is_empty(), known.collect::<Option<Vec<_>>>()) {
            categories.extend(known.iter().map(|spec| spec.category));
            categories.sort_unstable();
            categories.dedup();
        }
    }
    if !categories.is_empty() {
        let names = categories
            .iter()
            .map(|&category| category_name(category).into());
        add("category", "IN", names.collect());
    }
    let bounds = [
        ("trace_id", "=", filter.trace_id.map(Value::written)),
        ("at", ">=", filter.since.map(Value::from)),
        ("at", "<", filter.until.map(Value::from)),
        ("seq", ">", filter.after.map(Value::from)),
        ("seq", "<", filter.before.map(Value::from)),
    ];
    for (column, operator, bound) in bounds {
        if let Some(value) = bound {
            add(column, operator, vec![value]);
        }
    }
    params.push(filter.limit.into());
    let direction = match filter.order {
        SortOrder::OldestFirst => "ASC",
        SortOrder::NewestFirst => "DESC",
    };
    sql.push_str(&format!(
        " ORDER BY seq {direction} LIMIT ${}",
        params.len()
    ));
    (sql, params)
}

fn page(rows: &[Row]) -> Page {
    let mut page = Page {
        events: Vec::with_capacity(rows.len()),
        unreadable: 0,
        reached: rows.last().and_then(|row| row.get(0).ok()),
    };
    for row in rows {
        match decode(row) {
            Ok(event) => page.events.push(event),
            Err(error) => {
                tracing::debug!(%error, "timeline event skipped");
                page.unreadable += 1;
            }
        }
    }
    page
}

fn decode(row: &Row) -> Result<TimelineEvent, StoreError> {
    Ok(TimelineEvent {
        seq: Some(row.get(0)?),
        at: row.get(1)?,
        daemon: row.parse(2)?,
        trace: TraceContext {
            trace_id: row.parse(3)?,
            span_id: row.parse(4)?,
            parent_span_id: row.parse_optional(5)?,
        },
        event: serde_json::from_str(row.text(6)?)
            .map_err(|error| StoreError::internal(error.to_string()))?,
    })
}

const fn category_name(category: Category) -> &'static str {
    match category {
        Category::Pty => "pty",
        Category::Message => "message",
        Category::Task => "task",
        Category::Board => "board",
        Category::Slot => "slot",
        Category::Knowledge => "knowledge",
        Category::CliEngine => "cli_engine",
        Category::Pipeline => "pipeline",
        Category::System => "system",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_is_stored_under_the_name_it_has_on_the_wire() {
        for spec in missiond_core::KINDS {
            assert_eq!(
                serde_json::to_value(spec.category).unwrap(),
                category_name(spec.category)
            );
        }
    }
}
