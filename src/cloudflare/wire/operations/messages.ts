import * as v from 'valibot';
import { resultsBody } from '../call.ts';
import { answerBody, messageBody } from '../message.ts';
import { operation } from '../operation.ts';
import { count, place } from '../page.ts';

export const listMessages = operation({
	method: 'get',
	path: '/v1/sessions/:id/messages',
	access: 'token',
	adminToo: true,
	query: v.object({
		cursor: v.optional(place),
		limit: v.optional(count(500)),
		order: v.optional(v.picklist(['asc', 'desc'])),
	}),
});

export const getMessage = operation({
	method: 'get',
	path: '/v1/sessions/:id/messages/:message',
	access: 'token',
	adminToo: true,
});

export const sendMessage = operation({
	method: 'post',
	path: '/v1/sessions/:id/messages',
	access: 'token',
	json: messageBody,
});

export const listWaiting = operation({
	method: 'get',
	path: '/v1/sessions/:id/waiting',
	access: 'token',
	adminToo: true,
});

export const removeWaiting = operation({
	method: 'delete',
	path: '/v1/sessions/:id/waiting/:runId',
	access: 'token',
});

export const answerQuestion = operation({
	method: 'post',
	path: '/v1/sessions/:id/answer',
	access: 'token',
	json: answerBody,
});

export const submitResults = operation({
	method: 'post',
	path: '/v1/sessions/:id/tool-results',
	access: 'token',
	json: resultsBody,
});

export const continueRun = operation({
	method: 'post',
	path: '/v1/sessions/:id/continue',
	access: 'token',
});

export const stepRun = operation({
	method: 'post',
	path: '/v1/sessions/:id/step',
	access: 'token',
});

export const followRun = operation({
	method: 'get',
	path: '/v1/sessions/:id/events',
	access: 'token',
	adminToo: true,
});

export const cancelRun = operation({
	method: 'post',
	path: '/v1/sessions/:id/cancel',
	access: 'token',
});
