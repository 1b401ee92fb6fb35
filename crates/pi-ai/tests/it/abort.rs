//! Cancellation: at any point, immediate, on the wire, and with the content so far.

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
async fn cancellation_before_the_first_poll_sends_nothing() {
    let server = Server::scripted(vec![]).await;
    let mut stream = stream(APIS[0], &server);
    stream.cancel();
    assert_eq!(stream.next().await, Some(AssistantEvent::Error { reason: StopReason::Aborted }));
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.message().error_message.as_deref(), Some("Request was aborted"));
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn cancellation_while_waiting_closes_the_connection() {
    for api in APIS {
        let mut server = Server::scripted(vec![vec![Step::UntilDisconnect]]).await;
        let stream = stream(api, &server);
        let cancel = stream.cancel_token();
        let waiting = tokio::spawn(stream.result());
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        let message = waiting.await.unwrap();
        assert_eq!(message.stop_reason, StopReason::Aborted, "{api}");
        server.client_disconnected().await;
    }
}

#[tokio::test]
async fn cancellation_during_the_answer_keeps_the_text_so_far() {
    for api in APIS {
        let script = vec![
            Step::Send(stream_head()),
            Step::Send(beginning(api).as_bytes().to_vec()),
            Step::UntilDisconnect,
        ];
        let mut server = Server::scripted(vec![script]).await;
        let mut stream = stream(api, &server);
        while stream.message().text() != "Hel" {
            stream.next().await.unwrap();
        }
        stream.cancel();
        // The connection ends although the stream is not polled.
        server.client_disconnected().await;
        let message = stream.result().await;
        assert_eq!(message.stop_reason, StopReason::Aborted, "{api}");
        assert_eq!(message.text(), "Hel", "{api}");
    }
}

#[tokio::test]
async fn cancellation_during_a_retry_pause_ends_it() {
    let refusal = response("429 Too Many Requests", &[("retry-after", "50")], "");
    let server = Server::responding(refusal).await;
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
async fn dropping_the_stream_closes_the_connection() {
    let script = vec![
        Step::Send(stream_head()),
        Step::Send(beginning(APIS[1]).as_bytes().to_vec()),
        Step::UntilDisconnect,
    ];
    let mut server = Server::scripted(vec![script]).await;
    let mut stream = stream(APIS[1], &server);
    stream.next().await.unwrap();
    drop(stream);
    server.client_disconnected().await;
}

#[tokio::test]
async fn cancelling_a_stream_does_not_cancel_the_token_of_the_caller() {
    let mut server =
        Server::scripted(vec![vec![Step::UntilDisconnect], vec![Step::UntilDisconnect]]).await;
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
    server.client_disconnected().await;
}
