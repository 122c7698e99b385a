//! Whether the cards of a file fit together.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{Card, ImportError};

pub(crate) fn check(cards: &[Card]) -> Result<(), ImportError> {
    let mut indices = HashMap::with_capacity(cards.len());
    for (index, card) in cards.iter().enumerate() {
        if let Some(before) = indices.insert(card.key.as_str(), index) {
            let first = cards[before].line;
            let message = format!("the key `{}` is taken by line {first}", card.key);
            return Err(ImportError::at(card.line, message));
        }
    }
    for card in cards {
        let unknown = |what: &str, key: &str| {
            let message = format!("it {what} `{key}`, which is not in this file");
            Err(ImportError::at(card.line, message))
        };
        if let Some(parent) = &card.parent
            && !indices.contains_key(parent.as_str())
        {
            return unknown("is a part of", parent);
        }
        if let Some(on) = card
            .depends_on
            .iter()
            .find(|on| !indices.contains_key(on.as_str()))
        {
            return unknown("depends on", on);
        }
    }
    refuse_cycle(cards, &indices, "wait for each other", |card| {
        card.depends_on.iter().map(String::as_str).collect()
    })?;
    refuse_cycle(cards, &indices, "are parts of each other", |card| {
        card.parent.iter().map(String::as_str).collect()
    })
}

fn refuse_cycle<'c>(
    cards: &'c [Card],
    indices: &HashMap<&str, usize>,
    what: &str,
    follows: impl Fn(&'c Card) -> Vec<&'c str>,
) -> Result<(), ImportError> {
    let mut done = HashSet::with_capacity(cards.len());
    for start in 0..cards.len() {
        let mut path: Vec<(usize, Vec<&str>)> = Vec::new();
        let mut on_path = BTreeMap::new();
        if !done.contains(&start) {
            on_path.insert(start, 0);
            path.push((start, follows(&cards[start])));
        }
        while let Some((index, rest)) = path.last_mut() {
            let Some(next) = rest.pop() else {
                done.insert(*index);
                on_path.remove(index);
                path.pop();
                continue;
            };
            let next = indices[next];
            if let Some(from) = on_path.get(&next) {
                let cycle = path[*from..].iter().map(|(index, _)| *index).chain([next]);
                let keys: Vec<_> = cycle.map(|index| cards[index].key.as_str()).collect();
                let message = format!("these tasks {what}: {}", keys.join(" → "));
                return Err(ImportError::at(cards[next].line, message));
            }
            if !done.contains(&next) {
                on_path.insert(next, path.len());
                path.push((next, follows(&cards[next])));
            }
        }
    }
    Ok(())
}
