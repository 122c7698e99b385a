//! What cannot be drawn, and why.

use missiond_semantic::Size;

use crate::cast::CastError;

/// The largest picture that is drawn, in cells.
pub const MAX_PICTURE: Size = Size {
    columns: 1000,
    rows: 500,
};

#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error(
        "a picture has at most {}x{} cells, this terminal has {}x{}: make it smaller first",
        MAX_PICTURE.columns, MAX_PICTURE.rows, .0.columns, .0.rows
    )]
    TooLarge(Size),
    #[error("the image could not be encoded")]
    Encoding(#[from] ::png::EncodingError),
    #[error(transparent)]
    Recording(#[from] CastError),
}
