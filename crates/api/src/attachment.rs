//! Watching the screen of a slot: the messages, and the client's side.
//!
//! The daemon sends what to write to a terminal so that it shows the slot's
//! screen, one frame at a time: the next one follows when the last was said to
//! be painted, and leads from it to the screen as it then is. So a viewer is
//! never behind by more than what it is painting, and costs nothing while it is
//! slow.

use missiond_core::SlotId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::client::{Client, ClientError};
use crate::operations::compute::{Columns, Rows};
use crate::{Incoming, Notification};

pub const METHOD_ATTACH: &str = "attach";
pub const METHOD_DETACH: &str = "detach";
/// Sent by the daemon: what to write to the viewer's terminal.
pub const METHOD_PAINT: &str = "paint";
/// Sent by the viewer: a frame is on its terminal.
pub const METHOD_PAINTED: &str = "painted";
/// Sent by the daemon: the slot is closed.
pub const METHOD_ENDED: &str = "ended";

/// What a viewer may do besides looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ViewAccess {
    /// Its terminal sends keys, and the slot's terminal takes its size.
    Write,
    ReadOnly,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
    pub access: ViewAccess,
    /// Size of the viewer's terminal. A viewer that only reads may leave it out
    /// and is shown all of the slot's screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Columns>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Names this view; `slot_resize` takes it.
    pub attachment: u64,
    pub slot: SlotId,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetachParams {
    pub attachment: u64,
}

/// Parameters of the `paint` notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaintNotice {
    pub attachment: u64,
    /// Counted from 1.
    pub frame: u64,
    pub text: String,
    /// Another notification goes on with the same frame.
    pub more: bool,
}

/// Parameters of the `painted` notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaintedParams {
    pub attachment: u64,
    pub frame: u64,
}

/// Parameters of the `ended` notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedNotice {
    pub attachment: u64,
    /// How the program ended, as a sentence; or why there is nothing to type to.
    pub outcome: String,
    /// The slot goes on: only this view of it has ended.
    #[serde(default)]
    pub goes_on: bool,
}

/// What a viewer is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewNews {
    Paint(PaintNotice),
    Ended(EndedNotice),
}

/// A connection that shows a slot.
#[derive(Debug)]
pub struct Attachment {
    client: Client,
    attached: Attached,
}

impl Client {
    /// Turns the connection into a view of a slot.
    pub fn attach(mut self, params: &AttachParams) -> Result<Attachment, ClientError> {
        let attached = self.request(METHOD_ATTACH, params)?;
        self.wait_for_ever()?;
        Ok(Attachment {
            client: self,
            attached,
        })
    }
}

impl Attachment {
    #[must_use]
    pub fn attached(&self) -> &Attached {
        &self.attached
    }

    /// Blocks until there is something to paint or the slot ends.
    pub fn next_news(&mut self) -> Result<ViewNews, ClientError> {
        loop {
            match self.client.next_message()? {
                Incoming::Notification(notice) if notice.method == METHOD_PAINT => {
                    return parse(notice.params.as_deref()).map(ViewNews::Paint);
                }
                Incoming::Notification(notice) if notice.method == METHOD_ENDED => {
                    return parse(notice.params.as_deref()).map(ViewNews::Ended);
                }
                Incoming::Response(response) => {
                    response.result?;
                }
                Incoming::Notification(_) | Incoming::Request(_) => {}
            }
        }
    }

    /// Says that a frame is on the terminal; the next may come.
    pub fn painted(&mut self, frame: u64) -> Result<(), ClientError> {
        let params = PaintedParams {
            attachment: self.attached.attachment,
            frame,
        };
        self.client
            .send_line(&Notification::line(METHOD_PAINTED, &params))
    }
}

fn parse<T: serde::de::DeserializeOwned>(params: Option<&RawValue>) -> Result<T, ClientError> {
    serde_json::from_str(params.map_or("{}", RawValue::get))
        .map_err(|error| ClientError::Protocol(error.to_string()))
}
