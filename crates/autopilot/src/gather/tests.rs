//! What a refusal of the daemon makes of an agent that rests.

use super::super::view::Worked;
use super::*;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_micros(secs * 1_000_000)
}

fn refusal(refused_at: i64, until: Option<i64>) -> Option<Refusal> {
    Some(Refusal {
        execution: ExecutionId::generate(),
        refused_at: at(refused_at),
        until: until.map(at),
        reason: "no money".to_owned(),
    })
}

fn watched(rest: Rest) -> Watched {
    Watched {
        attention: ExecutionAttention::Autonomous,
        requests: 0,
        prompted: Sent::Yes,
        undelivered: 0,
        unreachable: None,
        rest,
        spoken_to_at: Some(at(10)),
        heard_at: at(10),
        limit: None,
        unpaid: None,
        stuck: None,
    }
}

fn resting() -> Watched {
    watched(Rest::Resting {
        since: at(12),
        worked: Worked::Seen,
    })
}

#[test]
fn a_refusal_that_ends_is_a_limit_and_another_is_for_a_person() {
    let limited = with_refusal(resting(), refusal(11, Some(900)));
    let limit = Limit {
        resets_at: Some(at(900)),
        said: "no money".to_owned(),
    };
    assert_eq!((limited.limit, limited.unpaid), (Some(limit), None));
    let unpaid = with_refusal(resting(), refusal(11, None));
    assert_eq!(unpaid.limit, None);
    assert_eq!(unpaid.unpaid.as_deref(), Some("no money"));
}

#[test]
fn an_agent_that_goes_on_is_not_held() {
    let working = watched(Rest::Working);
    for (watched, refused_at) in [(working, 11), (resting(), 9)] {
        let seen = with_refusal(watched.clone(), refusal(refused_at, Some(900)));
        assert_eq!(seen, watched);
    }
    assert_eq!(with_refusal(resting(), None), resting());
}
