//! Bytes as hexadecimal text. Digits are lower case, and the decoder takes
//! nothing else, so each sequence of bytes has one text and a changed letter is
//! never the same digest.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Two digits for each byte.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.extend(digits_of(*byte).map(char::from));
    }
    text
}

/// The same into a place the caller has, for the paths where an allocation per
/// digest counts. `text` must be twice as long as `bytes`; what is longer than
/// that stays as it was.
pub fn encode_into(bytes: &[u8], text: &mut [u8]) {
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&digits_of(*byte));
    }
}

/// The bytes of a text; none if it has an odd number of digits or anything but
/// digits.
#[must_use]
pub fn decode(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_ref().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(byte_of).collect()
}

/// The same for a text of known length.
#[must_use]
pub fn decode_array<const N: usize>(text: impl AsRef<[u8]>) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_ref().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = byte_of(pair)?;
    }
    Some(bytes)
}

fn digits_of(byte: u8) -> [u8; 2] {
    [
        DIGITS[usize::from(byte >> 4)],
        DIGITS[usize::from(byte & 15)],
    ]
}

fn byte_of(pair: &[u8; 2]) -> Option<u8> {
    Some(value_of(pair[0])? << 4 | value_of(pair[1])?)
}

const fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_come_back_as_they_were(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let text = encode(&bytes);
            prop_assert_eq!(decode(&text), Some(bytes.clone()));
            let mut in_place = vec![0; bytes.len() * 2];
            encode_into(&bytes, &mut in_place);
            prop_assert_eq!(in_place, text.as_bytes());
        }
    }

    #[test]
    fn a_text_that_encodes_no_bytes_is_refused() {
        assert_eq!(encode(&[0x00, 0x9a, 0xff]), "009aff");
        for wrong in ["0", "009", "0g", "FF", "0x", "é", " 00", "00 "] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
        assert_eq!(decode_array::<2>("0102"), Some([1, 2]));
        for wrong in ["", "01", "010", "010203", "01020"] {
            assert_eq!(decode_array::<2>(wrong), None, "{wrong}");
        }
    }
}
