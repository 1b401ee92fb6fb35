//! Abort: at any point, at once, on the wire, and with what was gathered.

use pi_ai::{
    AssistantEvent, AssistantStream, CancelToken, Context, Provider, Request, StopReason,
    StreamOptions,
};

use crate::hostile::{APIS, beginning, client, model};
use crate::server::{Server, Step, response, stream_head};

fn stream(api: &str, server: &Server) -> AssistantStream {
    stream_with(api, server, StreamOptions::default())
}

fn stream_with(api: &str, server: &Server, options: StreamOptions) -> AssistantStream {
    client().stream(&model(api, &server.url()), Context::new().user("hi"), options)
}

#[tokio::test]
async fn before_anything_was_sent() {
    let server = Server::play(vec![]).await;
    let mut stream = stream(APIS[0], &server);
    stream.cancel();
    assert_eq!(stream.next().await, Some(AssistantEvent::Error { reason: StopReason::Aborted }));
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.message().error_message.as_deref(), Some("Request was aborted"));
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn while_waiting_for_the_answer() {
    for api in APIS {
        let mut server = Server::play(vec![vec![Step::UntilGone]]).await;
        let stream = stream(api, &server);
        let cancel = stream.cancel_token();
        let waiting = tokio::spawn(stream.result());
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        let message = waiting.await.unwrap();
        assert_eq!(message.stop_reason, StopReason::Aborted, "{api}");
        server.client_gone().await;
    }
}

#[tokio::test]
async fn in_the_middle_of_the_answer() {
    for api in APIS {
        let script = vec![
            Step::Send(stream_head()),
            Step::Send(beginning(api).as_bytes().to_vec()),
            Step::UntilGone,
        ];
        let mut server = Server::play(vec![script]).await;
        let mut stream = stream(api, &server);
        while stream.message().text() != "Hel" {
            stream.next().await.unwrap();
        }
        stream.cancel();
        // The connection ends although the stream is not polled.
        server.client_gone().await;
        let message = stream.result().await;
        assert_eq!(message.stop_reason, StopReason::Aborted, "{api}");
        assert_eq!(message.text(), "Hel", "{api}");
    }
}

#[tokio::test]
async fn while_waiting_to_try_again() {
    let refusal = response("429 Too Many Requests", &[("retry-after", "50")], "");
    let server = Server::answer(refusal).await;
    let mut options = StreamOptions::default();
    options.retry.max_retries = 1;
    let stream = stream_with(APIS[1], &server, options);
    let cancel = stream.cancel_token();
    let waiting = tokio::spawn(stream.result());
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    assert_eq!(waiting.await.unwrap().stop_reason, StopReason::Aborted);
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request_too() {
    let script = vec![
        Step::Send(stream_head()),
        Step::Send(beginning(APIS[1]).as_bytes().to_vec()),
        Step::UntilGone,
    ];
    let mut server = Server::play(vec![script]).await;
    let mut stream = stream(APIS[1], &server);
    stream.next().await.unwrap();
    drop(stream);
    server.client_gone().await;
}

#[tokio::test]
async fn a_token_of_the_caller_cancels_the_stream_but_not_the_other_way_round() {
    let mut server = Server::play(vec![vec![Step::UntilGone], vec![Step::UntilGone]]).await;
    let request = || {
        Request::new(
            model(APIS[1], &server.url()),
            Context::new().user("hi"),
            StreamOptions::default(),
        )
    };
    let run = CancelToken::new();
    let first = Provider::stream(&client(), request(), run.clone());
    let second = Provider::stream(&client(), request(), run.clone());
    first.cancel();
    assert_eq!(first.result().await.stop_reason, StopReason::Aborted);
    assert!(!run.is_cancelled() && !second.cancel_token().is_cancelled());
    let waiting = tokio::spawn(second.result());
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    run.cancel();
    assert_eq!(waiting.await.unwrap().stop_reason, StopReason::Aborted);
    server.client_gone().await;
}
