import { bytesOf, digestFromHex } from '../bytes.ts';
import { timeOf } from './signature.ts';
import type { Source } from './source.ts';

/**
 * Slack: `v0:time:body`, `X-Slack-Signature: v0=` and hex. An event's type is that of the event inside (`app_mention`), of
 * anything else its own (`block_actions`); a slash command's is `slash_command`.
 */
export const slack: Source = {
	name: 'slack',
	keyOf: (secret) => bytesOf(secret),
	signed({ body, headers }) {
		const time = headers.get('x-slack-request-timestamp') ?? '';
		const at = timeOf(time);
		const signature = headers.get('x-slack-signature') ?? '';
		const digest = signature.startsWith('v0=') ? digestFromHex(signature.slice('v0='.length)) : undefined;
		return at === undefined || digest === undefined
			? undefined
			: { content: bytesOf(`v0:${time}:`, body), signatures: [digest], at };
	},
	describe({ type, event, event_id: id, trigger_id: trigger, challenge, command }) {
		const inner = typeof event === 'object' && event !== null && 'type' in event ? event.type : undefined;
		const own = typeof command === 'string' ? 'slash_command' : type;
		const named = type === 'event_callback' ? inner : own;
		return {
			type: typeof named === 'string' ? named : undefined,
			id: [id, trigger].find((one) => typeof one === 'string'),
			...(type === 'url_verification' && typeof challenge === 'string' && { reply: challenge }),
		};
	},
};
