//! The share of what there is only so much of that is kept for the person: a quarter, and one
//! at least. Whatever agents and programs open, the person gets in.

/// How many of so many everybody but the person may have. Of one alone, whoever comes first
/// has it.
pub(crate) const fn for_others(limit: usize) -> usize {
    let quarter = limit / 4;
    let kept = if quarter == 0 { 1 } else { quarter };
    if limit <= 1 { limit } else { limit - kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_kept_and_at_least_one() {
        let shares = [0, 1, 2, 3, 4, 8, 512].map(for_others);
        assert_eq!(shares, [0, 1, 1, 2, 3, 6, 384]);
    }
}
