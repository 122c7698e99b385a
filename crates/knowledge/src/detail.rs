//! How much of an entry's detail a list of hits shows.

/// The detail of an entry as a hit shows it, so many characters at most.
#[must_use]
pub fn shown_detail(detail: &str, most: usize) -> Option<String> {
    if most == 0 || detail.is_empty() {
        return None;
    }
    match detail.char_indices().nth(most) {
        None => Some(detail.to_owned()),
        Some((cut, _)) => Some(format!("{}…", detail[..cut].trim_end())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_detail_is_cut_and_none_shows_nothing() {
        let long = "語".repeat(3000);
        let shown = |most| shown_detail(&long, most).map(|text| text.chars().count());
        assert_eq!(shown(0), None);
        assert_eq!(shown(2000), Some(2001));
        assert_eq!(shown(3000), Some(3000));
        assert_eq!(shown_detail("short", 800).as_deref(), Some("short"));
        assert_eq!(shown_detail("", 800), None);
    }
}
