import * as v from 'valibot';
import * as endpoints from '../endpoints/webhooks.ts';
import { described } from '../field.ts';
import { createOperations } from '../operation.ts';
import { signatureHeaders } from '../protocols/webhooks/source.ts';

const operation = createOperations('Webhooks');

const delivered = v.object({
	sessionId: described(v.string(), 'The session that got the event.'),
	runId: v.optional(described(v.string(), 'The run that the event started. Missing if the event was dropped later.')),
});

const example = {
	sessionId: '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708',
	runId: 'run_2f1c1c9e-2f0e-4b0c-9f37-4d6a3b1f0c55',
};

export const receiveWebhook = operation(endpoints.receiveWebhook, {
	summary: 'Deliver a webhook',
	description: `Takes an event of another service for an agent that accepts its webhooks. The body is in the format of that service, up to 1 MB unless the agent allows more. The signature authenticates it, in the header of that service (${Object.values(signatureHeaders).join(', ')}), so no key is needed. An event is handled once, however often it is delivered.`,
	body: {
		'application/json': { example: { action: 'opened', issue: { number: 7 } } },
		'application/x-www-form-urlencoded': { example: 'command=%2Fask&text=hello' },
	},
	answers: {
		200: {
			says: 'The event was delivered before. Or the answer to a ping or a challenge of the service. Or, without a body, a command or click of Slack was accepted.',
			json: delivered,
			examples: { repeat: example },
			also: { 'text/plain': { example: 'pong' } },
		},
		202: { says: 'The event is stored. Its run starts or waits.', json: delivered, examples: { new: example } },
		204: { says: 'The agent ignores this event. Nothing was stored.' },
	},
	errors: [400, 403, 408, 413, 429, 500],
});
