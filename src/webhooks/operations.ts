import * as v from 'valibot';
import { operation } from '../wire/operation.ts';

const taken = v.object({ sessionId: v.string(), runId: v.optional(v.string()) });
const example = {
	sessionId: '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708',
	runId: 'run_7Hq2',
};

export const receiveWebhook = operation({
	id: 'receiveWebhook',
	method: 'post',
	path: '/v1/webhooks/:agent/:source',
	tag: 'Webhooks',
	summary: 'Receive an event',
	description:
		'The signature is checked over the bytes of the body, in the headers of its source: `webhook-signature`, `x-hub-signature-256`, `stripe-signature`, `x-slack-signature` or `x-signature-256`.',
	access: 'sender',
	body: {
		'application/json': { example: { action: 'opened', issue: { number: 7, title: 'It does not start' } } },
		'application/x-www-form-urlencoded': { example: 'command=%2Fask&text=hello' },
	},
	answers: {
		200: {
			says: 'It came before, and nothing was done. Or the word that a source wants to hear.',
			json: taken,
			examples: { again: example },
			also: { 'text/plain': { example: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' } },
		},
		202: { says: 'It is stored, and its run goes on.', json: taken, examples: { taken: example } },
		204: { says: 'The agent wants none of it.' },
	},
	errors: [400, 404, 413, 500],
});
