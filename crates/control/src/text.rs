//! Text of an agent, cut to a bound, with the cut said.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text and how many bytes of it were left out at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clipped {
    pub text: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_bytes: usize,
}

impl Clipped {
    /// At most `limit` bytes of `text`, never half a character.
    #[must_use]
    pub fn new(text: &str, limit: usize) -> Self {
        let kept = text.floor_char_boundary(limit);
        Self {
            text: text[..kept].to_owned(),
            omitted_bytes: text.len() - kept,
        }
    }

    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.omitted_bytes == 0
    }
}

impl fmt::Display for Clipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.is_whole() {
            return Ok(());
        }
        write!(f, "… ({} bytes more)", self.omitted_bytes)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the shape serde asks for
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_halves_a_character_and_is_counted() {
        assert!(Clipped::new("häß", 5).is_whole());
        let cut = Clipped::new("häß", 4);
        assert_eq!((cut.text.as_str(), cut.omitted_bytes), ("hä", 2));
        assert_eq!(Clipped::new("ß", 0).omitted_bytes, 2);
    }
}
