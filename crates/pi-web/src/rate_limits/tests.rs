//! Header sets as the providers send them.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::read;

/// 2026-11-16T08:40:00Z.
const NOW: u64 = 1_794_818_400;

fn limits(headers: &[(&str, &str)]) -> Value {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
    serde_json::to_value(read(headers.iter().copied(), now)).unwrap()
}

fn after(millis: u64) -> u64 {
    NOW * 1000 + millis
}

#[test]
fn headers_of_every_provider_become_the_same_form() {
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Value);
    let rows: &[Row<'_>] = &[
        ("nothing", &[("content-type", "text/event-stream"), ("x-request-id", "1")], json!({})),
        (
            "OpenAI",
            &[
                ("x-ratelimit-limit-requests", "10000"),
                ("x-ratelimit-limit-tokens", "2000000"),
                ("x-ratelimit-remaining-requests", "9999"),
                ("x-ratelimit-remaining-tokens", "1999984"),
                ("x-ratelimit-reset-requests", "6ms"),
                ("x-ratelimit-reset-tokens", "6m0s"),
                ("x-ratelimit-limit-project-tokens", "5"),
                ("openai-processing-ms", "400"),
            ],
            json!({
                "requests": {"limit": 10_000, "remaining": 9999, "reset": after(6)},
                "tokens": {"limit": 2_000_000, "remaining": 1_999_984, "reset": after(360_000)},
            }),
        ),
        (
            "Anthropic, API key",
            &[
                ("anthropic-ratelimit-requests-limit", "4000"),
                ("anthropic-ratelimit-requests-remaining", "3999"),
                ("anthropic-ratelimit-requests-reset", "2026-11-16T08:40:01Z"),
                ("anthropic-ratelimit-input-tokens-limit", "400000"),
                ("anthropic-ratelimit-input-tokens-remaining", "399000"),
                ("anthropic-ratelimit-input-tokens-reset", "2026-11-16T08:40:30Z"),
                ("anthropic-ratelimit-output-tokens-limit", "80000"),
                ("anthropic-ratelimit-output-tokens-remaining", "80000"),
                ("anthropic-ratelimit-output-tokens-reset", "2026-11-16T08:40:00Z"),
                ("anthropic-ratelimit-tokens-limit", "480000"),
                ("anthropic-ratelimit-tokens-remaining", "479000"),
                ("anthropic-ratelimit-tokens-reset", "2026-11-16T08:40:00Z"),
                ("anthropic-priority-input-tokens-limit", "10"),
            ],
            json!({
                "requests": {"limit": 4000, "remaining": 3999, "reset": after(1000)},
                "tokens": {"limit": 480_000, "remaining": 479_000, "reset": after(0)},
                "inputTokens": {"limit": 400_000, "remaining": 399_000, "reset": after(30_000)},
                "outputTokens": {"limit": 80_000, "remaining": 80_000, "reset": after(0)},
            }),
        ),
        (
            "Anthropic, subscription",
            &[
                ("anthropic-ratelimit-unified-status", "allowed_warning"),
                ("anthropic-ratelimit-unified-5h-reset", "1794828400"),
                ("anthropic-ratelimit-unified-5h-status", "allowed"),
                ("anthropic-ratelimit-unified-5h-utilization", "0.14"),
                ("anthropic-ratelimit-unified-7d-reset", "1795318400"),
                ("anthropic-ratelimit-unified-7d-status", "allowed_warning"),
                ("anthropic-ratelimit-unified-7d-utilization", "0.94"),
                ("anthropic-ratelimit-unified-7d_oi-utilization", "1.02"),
                ("anthropic-ratelimit-unified-fallback-percentage", "0.5"),
                ("anthropic-ratelimit-unified-reset", "1795318400"),
            ],
            json!({"windows": [
                {"name": "5h", "usedPercent": 14, "minutes": 300, "reset": 1_794_828_400_000_u64},
                {"name": "7d", "usedPercent": 94, "minutes": 10_080, "reset": 1_795_318_400_000_u64},
                {"name": "7d_oi", "usedPercent": 102, "minutes": 10_080},
            ]}),
        ),
        (
            "Groq, limited",
            &[
                ("retry-after", "2"),
                ("x-ratelimit-limit-requests", "14400"),
                ("x-ratelimit-limit-tokens", "18000"),
                ("x-ratelimit-remaining-requests", "14370"),
                ("x-ratelimit-remaining-tokens", "17997"),
                ("x-ratelimit-reset-requests", "2m59.56s"),
                ("x-ratelimit-reset-tokens", "7.66s"),
            ],
            json!({
                "requests": {"limit": 14_400, "remaining": 14_370, "reset": after(179_560)},
                "tokens": {"limit": 18_000, "remaining": 17_997, "reset": after(7660)},
                "retryAfterMs": 2000,
            }),
        ),
        (
            "Mistral: the month is closer to its limit than the minute",
            &[
                ("x-ratelimit-limit-req-minute", "50"),
                ("x-ratelimit-remaining-req-minute", "49"),
                ("x-ratelimit-limit-tokens-minute", "50000"),
                ("x-ratelimit-remaining-tokens-minute", "47300"),
                ("x-ratelimit-limit-tokens-month", "4000000"),
                ("x-ratelimit-remaining-tokens-month", "1000000"),
                ("x-ratelimit-tokens-query-cost", "1300"),
            ],
            json!({
                "requests": {"limit": 50, "remaining": 49, "period": "minute"},
                "tokens": {"limit": 4_000_000, "remaining": 1_000_000, "period": "month"},
            }),
        ),
        (
            "Azure",
            &[
                ("x-ratelimit-limit-requests", "250"),
                ("x-ratelimit-limit-tokens", "250000"),
                ("x-ratelimit-remaining-requests", "249"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "58"),
                ("retry-after", "58"),
                ("retry-after-ms", "57211"),
                ("x-ms-region", "East US"),
            ],
            json!({
                "requests": {"limit": 250, "remaining": 249},
                "tokens": {"limit": 250_000, "remaining": 0, "reset": after(58_000)},
                "retryAfterMs": 57_211,
            }),
        ),
        (
            "OpenRouter",
            &[
                ("X-RateLimit-Limit", "20"),
                ("X-RateLimit-Remaining", "0"),
                ("X-RateLimit-Reset", "1794818460000"),
            ],
            json!({"requests": {"limit": 20, "remaining": 0, "reset": after(60_000)}}),
        ),
        (
            "GitHub",
            &[
                ("x-ratelimit-limit", "5000"),
                ("x-ratelimit-remaining", "4999"),
                ("x-ratelimit-reset", "1794822000"),
                ("x-ratelimit-used", "1"),
                ("x-ratelimit-resource", "core"),
            ],
            json!({"requests": {"limit": 5000, "remaining": 4999, "reset": after(3_600_000)}}),
        ),
        (
            "GitHub Copilot",
            &[
                (
                    "x-quota-snapshot-chat",
                    "ent=-1&ov=0.0&ovPerm=false&rem=100.0&rst=2026-12-01T00%3A00%3A00Z",
                ),
                (
                    "x-quota-snapshot-premium_interactions",
                    "ent=1500&ov=0.0&ovPerm=false&rem=31.3&rst=2026-12-01T00%3A00%3A00Z",
                ),
                ("x-usage-ratelimit-weekly", "ent=200&rem=89.0&rst=2026-11-22T00:00:00Z"),
                ("x-quota-snapshot-odd", "remaining=0;limit=100"),
            ],
            json!({"windows": [
                {"name": "premium_interactions", "usedPercent": 69, "reset": 1_796_083_200_000_u64},
                {"name": "weekly", "usedPercent": 11, "reset": 1_795_305_600_000_u64},
            ]}),
        ),
        (
            "Cerebras",
            &[
                ("x-ratelimit-limit-requests-day", "14400"),
                ("x-ratelimit-remaining-requests-day", "14399"),
                ("x-ratelimit-reset-requests-day", "33011.382867"),
                ("x-ratelimit-limit-tokens-minute", "60000"),
                ("x-ratelimit-remaining-tokens-minute", "59000"),
                ("x-ratelimit-reset-tokens-minute", "11.382867"),
            ],
            json!({
                "requests": {"limit": 14_400, "remaining": 14_399, "reset": after(33_011_382), "period": "day"},
                "tokens": {"limit": 60_000, "remaining": 59_000, "reset": after(11_382), "period": "minute"},
            }),
        ),
        (
            "Fireworks",
            &[
                ("x-ratelimit-limit-tokens-prompt", "21600000"),
                ("x-ratelimit-remaining-tokens-prompt", "21500000"),
                ("x-ratelimit-limit-tokens-cache-adjusted-prompt", "5400000"),
                ("x-ratelimit-limit-tokens-generated", "216000"),
            ],
            json!({
                "inputTokens": {"limit": 21_600_000, "remaining": 21_500_000},
                "outputTokens": {"limit": 216_000},
            }),
        ),
        (
            "Together",
            &[
                ("x-ratelimit-limit", "10"),
                ("x-ratelimit-remaining", "9"),
                ("x-ratelimit-reset", "1"),
                ("x-tokenlimit-limit", "60000"),
                ("x-tokenlimit-remaining", "59999"),
            ],
            json!({
                "requests": {"limit": 10, "remaining": 9, "reset": after(1000)},
                "tokens": {"limit": 60_000, "remaining": 59_999},
            }),
        ),
        (
            "ChatGPT",
            &[
                ("x-codex-plan-type", "plus"),
                ("x-codex-primary-used-percent", "42.5"),
                ("x-codex-primary-window-minutes", "300"),
                ("x-codex-primary-reset-after-seconds", "3600"),
                ("x-codex-secondary-used-percent", "13"),
                ("x-codex-secondary-window-minutes", "10080"),
                ("x-codex-secondary-reset-at", "1795318400"),
            ],
            json!({"windows": [
                {"name": "primary", "usedPercent": 43, "minutes": 300, "reset": after(3_600_000)},
                {"name": "secondary", "usedPercent": 13, "minutes": 10_080, "reset": 1_795_318_400_000_u64},
            ]}),
        ),
        (
            "structured field",
            &[("RateLimit", "\"api\";r=997;t=271"), ("RateLimit-Policy", "\"api\";q=1000;w=300")],
            json!({"requests": {"remaining": 997, "reset": after(271_000)}}),
        ),
        (
            "older structured field",
            &[("RateLimit", "limit=100, remaining=50, reset=30")],
            json!({"requests": {"limit": 100, "remaining": 50, "reset": after(30_000)}}),
        ),
        (
            "separate fields of the draft",
            &[("ratelimit-limit", "100"), ("ratelimit-remaining", "99"), ("ratelimit-reset", "5")],
            json!({"requests": {"limit": 100, "remaining": 99, "reset": after(5000)}}),
        ),
        (
            "a date",
            &[("Retry-After", "Mon, 16 Nov 2026 08:40:05 GMT")],
            json!({"retryAfterMs": 5000}),
        ),
        (
            "nonsense",
            &[
                ("x-ratelimit-limit-requests", "many"),
                ("x-ratelimit-remaining-requests", "-1"),
                ("x-ratelimit-reset-requests", "later"),
                ("retry-after", "soon"),
                ("x-codex-primary-used-percent", "NaN"),
            ],
            json!({}),
        ),
    ];
    for (provider, headers, expected) in rows {
        assert_eq!(limits(headers), *expected, "{provider}");
    }
}
