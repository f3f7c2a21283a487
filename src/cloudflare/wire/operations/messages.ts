import * as v from 'valibot';
import { resultsBody } from '../call.ts';
import { answerBody, messageBody, shownMessage } from '../message.ts';
import { operation } from '../operation.ts';
import { count, nextCursor, place } from '../page.ts';
import { session } from '../session.ts';
import * as example from './examples.ts';
import { runAnswers, runHeaders, runOrSession, stream } from './run-answers.ts';

export const listMessages = operation({
	id: 'listMessages',
	method: 'get',
	path: '/v1/sessions/:id/messages',
	tag: 'Messages',
	summary: 'Read the history',
	description: 'Oldest first. If a message has `isCut`, get it by its id to read all of it.',
	access: 'token',
	adminToo: true,
	query: v.object({ cursor: v.optional(place), limit: v.optional(count(500)) }),
	answers: {
		200: {
			says: 'One page of the history.',
			json: v.object({ messages: v.array(shownMessage), cursor: nextCursor }),
			examples: { page: { messages: example.messages } },
		},
	},
	errors: [404],
});

export const getMessage = operation({
	id: 'getMessage',
	method: 'get',
	path: '/v1/sessions/:id/messages/:message',
	tag: 'Messages',
	summary: 'Read one message',
	description: 'Includes the full result of its tool.',
	access: 'token',
	adminToo: true,
	answers: { 200: { says: 'The message.', json: shownMessage, examples: { message: example.messages[1] } } },
	errors: [400, 404],
});

export const sendMessage = operation({
	id: 'sendMessage',
	method: 'post',
	path: '/v1/sessions/:id/messages',
	tag: 'Messages',
	summary: 'Send a message',
	description: 'If a tool asked a question, the message answers it. During a run, `whenBusy` says what happens.',
	access: 'token',
	headers: runHeaders,
	json: messageBody,
	examples: {
		text: { text: 'And divided by 6?' },
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
	errors: [404, 409],
	runs: true,
});

export const answerQuestion = operation({
	id: 'answerQuestion',
	method: 'post',
	path: '/v1/sessions/:id/answer',
	tag: 'Messages',
	summary: 'Answer a tool’s question',
	description: 'If no tool asks, the answer is refused.',
	access: 'token',
	headers: runHeaders,
	json: answerBody,
	examples: { text: { text: 'On Friday.' } },
	answers: runAnswers,
	errors: [404, 409],
	runs: true,
});

export const submitResults = operation({
	id: 'submitResults',
	method: 'post',
	path: '/v1/sessions/:id/tool-results',
	tag: 'Messages',
	summary: 'Answer waiting calls',
	description: 'Takes results and approvals, all at once or one by one. After the last one the run continues.',
	access: 'token',
	headers: runHeaders,
	json: resultsBody,
	examples: {
		result: [{ id: 'call_1', output: { refunded: true } }],
		approval: [{ id: 'call_1', approve: false, reason: 'Too much.' }],
	},
	answers: runOrSession('Or the session, while other calls wait.'),
	errors: [404, 409],
	runs: true,
});

export const continueRun = operation({
	id: 'continueRun',
	method: 'post',
	path: '/v1/sessions/:id/continue',
	tag: 'Runs',
	summary: 'Continue a run',
	description: 'Continues a run that failed or that stopped after a step.',
	access: 'token',
	headers: runHeaders,
	answers: runAnswers,
	errors: [400, 404, 409],
	runs: true,
});

export const stepRun = operation({
	id: 'stepRun',
	method: 'post',
	path: '/v1/sessions/:id/step',
	tag: 'Runs',
	summary: 'Continue a run for one turn',
	description: 'Like `continue`, but for one turn of the model.',
	access: 'token',
	headers: runHeaders,
	answers: runAnswers,
	errors: [400, 404, 409],
	runs: true,
});

export const followRun = operation({
	id: 'followRun',
	method: 'get',
	path: '/v1/sessions/:id/events',
	tag: 'Runs',
	summary: 'Follow a run',
	description:
		'Streams the newest run from its start. With `Last-Event-ID` it streams each later event once. The run continues when its readers disconnect.',
	access: 'token',
	adminToo: true,
	headers: ['last-event-id'],
	answers: {
		200: { says: 'The events.', also: stream },
		204: { says: 'There are no (more) events to follow.' },
	},
	errors: [400, 404],
});

export const cancelRun = operation({
	id: 'cancelRun',
	method: 'post',
	path: '/v1/sessions/:id/cancel',
	tag: 'Runs',
	summary: 'Stop a run',
	description: 'Stops the run and its call to the model at once. Waiting messages and calls are dropped.',
	access: 'token',
	headers: ['idempotency-key'],
	answers: { 200: { says: 'The session.', json: session, examples: { session: example.empty } } },
	errors: [400, 404, 409],
});
