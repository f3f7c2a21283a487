import * as v from 'valibot';
import * as endpoints from '../endpoints/messages.ts';
import { feedback } from '../feedback.ts';
import { shownMessage, waitingMessages } from '../message.ts';
import { createOperations } from '../operation.ts';
import { nextCursor } from '../page.ts';
import { session } from '../session.ts';
import * as example from './shared.ts';
import { runAnswers, runHeaders, runOrSession, stream } from './shared.ts';

const operation = createOperations('Messages');
const runOperation = createOperations('Runs');

export const listMessages = operation(endpoints.listMessages, {
	summary: 'Read the history',
	description:
		'Oldest first, or newest first with `order=desc`: the next page has the older ones. If a message has `isCut`, get it by its id to read all of it.',
	answers: {
		200: {
			says: 'One page of the history.',
			json: v.object({ messages: v.array(shownMessage), cursor: nextCursor }),
			examples: { page: { messages: example.messages } },
		},
	},
});

export const getMessage = operation(endpoints.getMessage, {
	summary: 'Read one message',
	description: 'Includes the full result of its tool.',
	answers: { 200: { says: 'The message.', json: shownMessage, examples: { message: example.messages[1] } } },
	errors: [400],
});

export const sendMessage = operation(endpoints.sendMessage, {
	summary: 'Send a message',
	description: 'If a tool asked a question, the message answers it. During a run, `whenBusy` says what happens.',
	headers: runHeaders,
	examples: {
		text: { text: 'And divided by 6?' },
		edited: { text: 'What is 17 + 26?', replaces: '65536' },
		'asked again': { replaces: '65536' },
		parts: {
			parts: [
				{ kind: 'text', text: 'What is this?' },
				{ kind: 'image', url: 'https://example.com/cat.png' },
			],
		},
		attachment: {
			text: 'Sum this up.',
			attachments: [{ name: 'a.csv', type: 'text/csv', size: 3, contentText: 'a,b' }],
		},
	},
	answers: runOrSession('Or the session, if the message was dropped and is repeated with the same key.'),
	errors: [409],
	runs: true,
});

export const listWaiting = operation(endpoints.listWaiting, {
	summary: 'Read the waiting messages',
	description: 'The messages that arrived during a run and wait for its end or its next turn. Oldest first.',
	answers: { 200: { says: 'The messages.', json: waitingMessages, examples: { waiting: example.waitingMessages } } },
});

export const removeWaiting = operation(endpoints.removeWaiting, {
	summary: 'Remove a waiting message',
	description: 'The message then gets no run. A message that a run has taken is `404`.',
	answers: { 204: { says: 'The message is removed.' } },
	errors: [409],
});

export const answerQuestion = operation(endpoints.answerQuestion, {
	summary: 'Answer a tool’s question',
	description: 'If no tool asks, the answer is refused; with callId also if another call waits.',
	headers: runHeaders,
	examples: { text: { text: 'On Friday.' }, 'of the question that was seen': { text: 'On Friday.', callId: 'call_1' } },
	answers: runAnswers,
	errors: [409],
	runs: true,
});

export const submitResults = operation(endpoints.submitResults, {
	summary: 'Answer waiting calls',
	description: 'Takes results and approvals, all at once or one by one. After the last one the run continues.',
	headers: runHeaders,
	examples: {
		result: [{ id: 'call_1', output: { refunded: true } }],
		approval: [{ id: 'call_1', approve: false, reason: 'Too much.' }],
		'other arguments': [{ id: 'call_1', approve: true, input: { amount: 90 } }],
	},
	answers: runOrSession('Or the session, while other calls wait.'),
	errors: [409],
	runs: true,
});

export const rateRun = runOperation(endpoints.rateRun, {
	summary: 'Rate the answer of a run',
	description: 'A run has one rating. A second one replaces it.',
	examples: { down: { rating: 'down', note: 'It arrived today.' }, up: { rating: 'up' } },
	answers: { 200: { says: 'The rating.', json: feedback, examples: { rating: example.feedback } } },
	errors: [404, 409],
});

export const unrateRun = runOperation(endpoints.unrateRun, {
	summary: 'Remove the rating of a run',
	answers: { 204: { says: 'The run has no rating.' } },
	errors: [404, 409],
});

export const continueRun = runOperation(endpoints.continueRun, {
	summary: 'Continue a run',
	description: 'Continues a run that failed or that stopped after a step.',
	headers: runHeaders,
	answers: runAnswers,
	errors: [400, 409],
	runs: true,
});

export const stepRun = runOperation(endpoints.stepRun, {
	summary: 'Continue a run for one turn',
	description: 'Like `continue`, but for one turn of the model.',
	headers: runHeaders,
	answers: runAnswers,
	errors: [400, 409],
	runs: true,
});

export const followRun = runOperation(endpoints.followRun, {
	summary: 'Follow a run',
	description:
		'Streams the newest run from its start. With `Last-Event-ID` it streams each later event once. The run continues when its readers disconnect.',
	headers: ['last-event-id'],
	answers: {
		200: { says: 'The events.', also: stream },
		204: { says: 'There are no (more) events to follow.' },
	},
	errors: [400],
});

export const cancelRun = runOperation(endpoints.cancelRun, {
	summary: 'Stop a run',
	description: 'Stops the run and its call to the model at once. Waiting messages and calls are dropped.',
	headers: ['idempotency-key'],
	answers: { 200: { says: 'The session.', json: session, examples: { session: example.empty } } },
	errors: [400, 409],
});
