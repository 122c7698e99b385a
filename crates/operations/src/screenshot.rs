//! Handler of `slot_screenshot`: takes the picture where the terminal is, draws
//! it on a thread that may block, and keeps to the size of a message.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use missiond_api::operations::compute::{
    PictureEncoding, ScreenshotFormat, SlotPicture, SlotScreenshot, SlotScreenshotParams,
};
use missiond_api::{ApiError, MAX_FRAME};
use missiond_core::{ErrorCode, SlotId};
use missiond_pty::screenshot::{Format, Picture, PictureError};
use missiond_runtime::blocking;
use missiond_slots::SlotCommand;

use super::compute::{ask, last_session};
use crate::call::{Call, Operations};
use crate::state::Daemon;

/// What of a message is not the picture: the names and the other fields.
const ENVELOPE: usize = 1024;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<SlotScreenshot, _, _>(screenshot);
}

async fn screenshot(call: Call, params: SlotScreenshotParams) -> Result<SlotPicture, ApiError> {
    let (slot, picture) = picture_of(&call, &params.slot).await?;
    let (columns, rows) = (picture.size.columns, picture.size.rows);
    let format = params.format;
    let (encoding, content) = blocking(move || draw(&picture, format)).await?;
    Ok(SlotPicture {
        slot,
        format,
        columns,
        rows,
        encoding,
        content,
    })
}

/// The screen of a slot as a file.
pub async fn picture(daemon: Daemon, slot: &str, format: Format) -> Result<Vec<u8>, ApiError> {
    let call = Call::looking(daemon);
    let (_, picture) = picture_of(&call, slot).await?;
    let drawn = blocking(move || picture.render(format)).await;
    drawn.map_err(|error| of_picture(&error))
}

async fn picture_of(call: &Call, reference: &str) -> Result<(SlotId, Picture), ApiError> {
    let (slot, picture) = match call.daemon.slots.find(reference) {
        Some(open) => (open.slot.id, ask(&open, SlotCommand::Picture).await?),
        None => {
            let (slot, mut session, _) = last_session(call, reference).await?;
            (slot.id, session.terminal().picture())
        }
    };
    Ok((slot, picture.map_err(|error| of_picture(&error))?))
}

fn draw(
    picture: &Picture,
    format: ScreenshotFormat,
) -> Result<(PictureEncoding, String), ApiError> {
    let rendered = picture.render(match format {
        ScreenshotFormat::Png => Format::Png,
        ScreenshotFormat::Text => Format::Text,
        ScreenshotFormat::Ansi => Format::Ansi,
        ScreenshotFormat::Svg => Format::Svg,
    });
    let bytes = rendered.map_err(|error| of_picture(&error))?;
    let (encoding, content) = match format {
        ScreenshotFormat::Png => (PictureEncoding::Base64, BASE64.encode(bytes)),
        ScreenshotFormat::Text | ScreenshotFormat::Ansi | ScreenshotFormat::Svg => {
            let text =
                String::from_utf8(bytes).map_err(|error| ApiError::internal(error.to_string()))?;
            (PictureEncoding::Text, text)
        }
    };
    // Quotes and escapes take more room in a message than in the picture.
    let size = serde_json::to_string(&content)
        .map_err(|error| ApiError::internal(error.to_string()))?
        .len();
    if size + ENVELOPE > MAX_FRAME {
        return Err(ApiError::new(
            ErrorCode::TooLarge,
            format!(
                "the picture takes {size} bytes, and a message holds {MAX_FRAME}: \
                 ask for another format or make the terminal smaller"
            ),
        ));
    }
    Ok((encoding, content))
}

fn of_picture(error: &PictureError) -> ApiError {
    let code = match error {
        PictureError::TooLarge(_) => ErrorCode::TooLarge,
        PictureError::Encoding(_) | PictureError::Recording(_) => ErrorCode::Internal,
    };
    ApiError::new(code, error.to_string())
}
