// What each stage of the search gave a hit, in the order of the stages.

import type { KbScores } from "../generated/operations";

// What happened to the mean of words and meaning after it was first taken.
function changes({ first_fused: first, lent }: KbScores): string {
  return [
    typeof first === "number" ? `, ${first.toFixed(3)} before the question moved towards the best` : "",
    lent === 0 ? "" : `, of it ${lent > 0 ? "+" : ""}${lent.toFixed(3)} by its conversation`,
  ].join("");
}

export function Scores({ scores }: { scores: KbScores }) {
  const stages: [string, number | undefined, string][] = [
    [
      "words",
      typeof scores.keyword_rank === "number" ? 1 / (1 + scores.keyword_rank) : 0,
      typeof scores.keyword_rank === "number"
        ? `${place(scores.keyword_rank)} by words, with ${scores.keyword.toFixed(2)}`
        : scores.keyword > 0
          ? `not among the best by words, with ${scores.keyword.toFixed(2)}`
          : "no word of it is in the question",
    ],
    [
      "meaning",
      scores.vector ?? undefined,
      typeof scores.vector === "number"
        ? `${typeof scores.vector_rank === "number" ? `${place(scores.vector_rank)} by meaning` : "not among the nearest"}, ${percent(scores.vector)} alike`
        : "was not compared",
    ],
    ["both", scores.fused, `${scores.fused.toFixed(3)} of 1 together${changes(scores)}`],
    [
      "age",
      scores.freshness,
      scores.freshness >= 0.9995 ? "takes nothing away" : `leaves ${percent(scores.freshness)} of it`,
    ],
    [
      "exact match",
      scores.exact,
      scores.exact > 0 ? `has ${percent(scores.exact)} of the names and phrases asked for` : "nothing was named exactly",
    ],
    ["relevance", scores.relevance, `${scores.relevance.toFixed(3)}, which is what hits are ordered by`],
  ];
  if (typeof scores.likeness === "number") {
    stages.push(["likeness", scores.likeness, `${percent(scores.likeness)} like a hit before it`]);
  }
  return (
    <dl className="scores" aria-label="Why it is here">
      {stages.map(([stage, share, said]) => (
        <div key={stage}>
          <dt>{stage}</dt>
          <dd>
            <span className="score" aria-hidden="true">
              <span style={{ width: `${Math.max(0, Math.min(1, share ?? 0)) * 100}%` }} />
            </span>
            {said}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const percent = (share: number) => `${Math.round(share * 100)} %`;

function place(rank: number): string {
  const number = rank + 1;
  const tens = number % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}
