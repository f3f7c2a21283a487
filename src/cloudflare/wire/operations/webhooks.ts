import * as v from 'valibot';
import { operation } from '../operation.ts';

const taken = v.object({
	sessionId: v.pipe(v.string(), v.description('The session that has the event.')),
	runId: v.optional(v.pipe(v.string(), v.description('The run that it began; missing where it was dropped since.'))),
});
const example = {
	sessionId: '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708',
	runId: 'run_2f1c1c9e-2f0e-4b0c-9f37-4d6a3b1f0c55',
};

export const receiveWebhook = operation({
	id: 'receiveWebhook',
	method: 'post',
	path: '/v1/webhooks/:agent/:source',
	tag: 'Webhooks',
	summary: 'Deliver a webhook',
	description:
		'An event of another service, for an agent that takes its webhooks. The body is that service’s own, up to 1 MB unless the agent says more, and its signature is what authenticates it, in the headers of that service (`webhook-signature`, `x-hub-signature-256`, `stripe-signature`, `x-slack-signature`, `x-signature-256`): no key is asked for. It is done once, however often it is delivered.',
	access: 'sender',
	ignoresQuery: true,
	body: {
		'application/json': { example: { action: 'opened', issue: { number: 7 } } },
		'application/x-www-form-urlencoded': { example: 'command=%2Fask&text=hello' },
	},
	answers: {
		200: {
			says: 'It was delivered before; or a ping or a challenge of the service, answered; or, with no body, a command or click of Slack, taken.',
			json: taken,
			examples: { repeat: example },
			also: { 'text/plain': { example: 'pong' } },
		},
		202: { says: 'It is stored, and its run begins or waits.', json: taken, examples: { new: example } },
		204: { says: 'The agent wants nothing of this event. Nothing was stored.' },
	},
	errors: [400, 403, 404, 408, 413, 429, 500],
});
