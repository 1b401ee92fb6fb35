//! Conversations that change their wire format, and with it the provider.

use pi_ai::UserBlock;

use crate::Outcome;
use crate::conversation::{Conversation, expect_text};
use crate::peer::{Format, Peer};
use crate::scenarios::{WEATHER, WEATHER_BACK, expect_call};

/// Each format thinks and calls; the next format receives the result, answers, and calls in turn.
/// The first format comes again at the end. Thus every format receives the ids and the thinking of
/// all others, and a pending call of another format.
pub(crate) async fn switch(peer: &Peer) -> Outcome {
    let first = peer.formats.first().ok_or("no formats")?;
    let mut talk = Conversation::new(peer, first)?.with_tools().with_thinking();
    // In strict mode, aimock requires thinking before every call in an Anthropic history. The API
    // requires it only in the current turn, and calls of other formats never have it.
    talk.options.headers.insert("x-aimock-strict".to_owned(), Some("false".to_owned()));
    for format in peer.formats.iter().chain([first]) {
        let api = format.api;
        let in_format = |why: String| format!("{api}: {why}");
        talk.switch(peer, format)?;
        if let Some(pi_ai::Message::ToolResult(_)) = talk.context.messages.last() {
            let message = talk.ask().await.map_err(in_format)?;
            expect_text(peer, &message, WEATHER_BACK).map_err(in_format)?;
        }
        talk.user(WEATHER);
        let message = talk.ask().await.map_err(in_format)?;
        expect_call(&message).map_err(in_format)?;
        talk.results(&message, &[UserBlock::text("Sunny, 20 degrees.")]);
    }
    expect_text(peer, &talk.ask().await?, WEATHER_BACK)
}

/// Every ordered pair of formats: the first one thinks and calls, the second one receives the result,
/// answers, calls by itself and answers again.
pub(crate) async fn pairs(peer: &Peer) -> Outcome {
    let mut failures = Vec::new();
    for first in &peer.formats {
        for second in peer.formats.iter().filter(|second| second.label() != first.label()) {
            if let Err(why) = hand_over(peer, first, second).await {
                failures.push(format!("{} to {}: {why}", first.label(), second.label()));
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

async fn hand_over(peer: &Peer, first: &Format, second: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, first)?.with_tools().with_thinking();
    talk.options.headers.insert("x-aimock-strict".to_owned(), Some("false".to_owned()));
    for format in [first, second] {
        talk.switch(peer, format)?;
        if format.label() == second.label() {
            expect_text(peer, &talk.ask().await?, WEATHER_BACK)?;
        }
        talk.user(WEATHER);
        let message = talk.ask().await?;
        expect_call(&message)?;
        talk.results(&message, &[UserBlock::text("Sunny, 20 degrees.")]);
    }
    expect_text(peer, &talk.ask().await?, WEATHER_BACK)
}
