//! "Did you mean …?"

/// Below this likeness a name is another one rather than a slip.
const LEAST_SIMILARITY: f64 = 0.5;

/// The name that was probably meant, if any is near enough.
#[must_use]
pub fn nearest_name<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(given, name), name))
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let names = ["board_list", "board_show", "slot_list"];
        assert_eq!(nearest_name("bord_list", names), Some("board_list"));
        assert_eq!(nearest_name("board_shwo", names), Some("board_show"));
        assert_eq!(nearest_name("weather", names), None);
        assert_eq!(nearest_name("board_list", []), None);
    }
}
