//! Recorded streams of Bedrock behind a server that checks signatures with botocore.

use std::sync::Arc;

use pi_ai::wire::{self, Call};
use pi_ai::{AssistantMessage, Context, MessageBuilder, Model, Request, StopReason, StreamOptions};

use crate::conversation::Conversation;
use crate::peer::Peer;
use crate::{Outcome, report};

/// Name and bytes of a recording.
macro_rules! recordings {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!(
            "../../tests/fixtures/traces/bedrock-converse-stream/", $name, ".bin"
        )).as_slice())),*]
    };
}

const RECORDINGS: [(&str, &[u8]); 7] = recordings! {
    "claude-reasoning-redacted"
    "claude-text"
    "gpt-oss-reasoning-empty-text"
    "nova-tool-use-parallel"
    "nova-tool-use-turn1"
    "nova-tool-use-turn2"
    "nova2-code-execution"
};

/// Ids whose characters are encoded in different ways in paths and signatures.
const IDS: [&str; 4] = [
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2",
    "with space+plus%percent~tilde",
    "naïve/日本",
];

/// Requests every recording with every id, then fails on purpose.
pub(crate) async fn run(peer: &Peer) -> Result<(), String> {
    let format = peer.formats.first().ok_or("no formats")?;
    for (name, recording) in RECORDINGS {
        let mut outcome = Ok(());
        for id in IDS {
            let sent = replay(peer, name, id, &[]).await?;
            outcome = outcome.and(same(&sent, recording));
        }
        tell(format.api, name, outcome);
    }
    let region = ("AWS_REGION", "ap-southeast-2");
    let token = ("AWS_SESSION_TOKEN", "a/session+token==");
    let message = replay(peer, "claude-text", IDS[0], &[region, token]).await?;
    tell(format.api, "session token", same(&message, RECORDINGS[1].1));
    let wrong = ("AWS_SECRET_ACCESS_KEY", "wrong");
    let message = replay(peer, "claude-text", IDS[0], &[wrong]).await?;
    let error = message.error_message.clone().unwrap_or_default();
    let refused = error.starts_with("InvalidSignatureException: ");
    tell(format.api, "wrong secret", if refused { Ok(()) } else { Err(error) });
    Ok(())
}

fn tell(api: &str, conversation: &str, outcome: Outcome) {
    match outcome {
        Ok(()) => report(api, conversation, "ok", ""),
        Err(why) => report(api, conversation, "FAILED", &why),
    }
}

async fn replay(
    peer: &Peer,
    name: &str,
    id: &str,
    variables: &[(&str, &str)],
) -> Result<Arc<AssistantMessage>, String> {
    let format = peer.formats.first().ok_or("no formats")?;
    let mut talk = Conversation::new(peer, format)?.with_tools();
    talk.options.headers.insert("x-interop-trace".to_owned(), Some(name.to_owned()));
    for (variable, value) in variables {
        talk.options.env.insert((*variable).to_owned(), (*value).to_owned());
    }
    talk.rename_model(id);
    talk.user("Grüße, 世界");
    talk.attempt().await
}

/// Checks that a message is the one that the recording decodes to without a network.
fn same(message: &AssistantMessage, recording: &[u8]) -> Outcome {
    let api = "bedrock-converse-stream";
    let model = Model { id: "m".to_owned(), api: api.to_owned(), ..Model::default() };
    let request =
        Request::new(Arc::new(model.clone()), Context::new().user("hi"), StreamOptions::default());
    let call = Call::new(request, None, &|_| None);
    let mut decoder = (wire::format(api).ok_or("no such format")?.decoder)(&call);
    let mut out = MessageBuilder::new(&model);
    decoder.push(recording, &mut out);
    decoder.finish(&mut out);
    let expected = out.into_message();
    let content = |message: &AssistantMessage| serde_json::to_string(&message.content);
    let equal = message.stop_reason == expected.stop_reason
        && message.stop_reason != StopReason::Error
        && message.usage.total_tokens == expected.usage.total_tokens
        && content(message).ok() == content(&expected).ok();
    if equal { Ok(()) } else { Err(format!("{:?}: {:?}", message.error_message, message.content)) }
}
