//! One conversation that changes its wire format, and with it its provider, again and again.

use pi_ai::UserBlock;

use crate::Outcome;
use crate::ask::{Conversation, expect_text};
use crate::peer::Peer;
use crate::talk::{WEATHER, WEATHER_BACK, expect_call};

/// Each format thinks and calls; the next one gets the result, answers, and calls in turn. The
/// first one comes again at the end. So every format sees the ids and the thinking of all others,
/// and a call that another one made and that is still waiting for its result.
pub(crate) async fn switch(peer: &Peer) -> Outcome {
    let first = peer.formats.first().ok_or("no formats")?;
    let mut talk = Conversation::new(peer, first)?.with_tools().with_thinking();
    // Strictly, aimock wants thinking before every call in an Anthropic history. The API wants it
    // only in the turn that is going on, and calls of others never have it.
    talk.options.headers.insert("x-aimock-strict".to_owned(), Some("false".to_owned()));
    for format in peer.formats.iter().chain([first]) {
        let api = format.api;
        let say = |why: String| format!("{api}: {why}");
        talk.switch(peer, format)?;
        if let Some(pi_ai::Message::ToolResult(_)) = talk.context.messages.last() {
            let message = talk.ask().await.map_err(say)?;
            expect_text(peer, &message, WEATHER_BACK).map_err(say)?;
        }
        talk.user(WEATHER);
        let message = talk.ask().await.map_err(say)?;
        expect_call(&message).map_err(say)?;
        talk.results(&message, &[UserBlock::text("Sunny, 20 degrees.")]);
    }
    expect_text(peer, &talk.ask().await?, WEATHER_BACK)
}
