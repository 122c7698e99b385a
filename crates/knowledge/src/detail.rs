//! How much of an entry's detail a list of hits shows.

use missiond_core::EntryCategory;

/// The detail of an entry as a hit shows it.
#[must_use]
pub fn shown_detail(category: EntryCategory, detail: &str) -> Option<String> {
    let most = category.detail_shown();
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
    fn the_detail_shown_depends_on_the_category() {
        let long = "語".repeat(3000);
        let shown = |category| shown_detail(category, &long).map(|text| text.chars().count());
        assert_eq!(shown(EntryCategory::Architecture), None);
        assert_eq!(shown(EntryCategory::Policy), Some(2001));
        assert_eq!(shown(EntryCategory::Debug), Some(801));
        let short = shown_detail(EntryCategory::Debug, "short");
        assert_eq!(short.as_deref(), Some("short"));
    }
}
