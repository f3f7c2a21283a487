import { joinBytes, parseDigest } from '../../../../core/base/bytes.ts';
import { isRecord } from '../../../../core/base/json.ts';
import { parseTime } from './signature.ts';
import { type Source, signatureHeaders } from './source.ts';

/**
 * Slack signs `v0:time:body`. `X-Slack-Signature` is `v0=` and hex. The type is the type of the inner event
 * (`app_mention`), `slash_command` for a slash command, or the type of the payload (`block_actions`).
 */
export const slack: Source = {
	name: 'slack',
	getKey: (secret) => joinBytes(secret),
	readSignature(headers) {
		const time = headers.get('x-slack-request-timestamp') ?? '';
		const at = parseTime(time);
		const signature = headers.get(signatureHeaders.slack) ?? '';
		const digest = signature.startsWith('v0=') ? parseDigest(signature.slice('v0='.length)) : undefined;
		return at === undefined || digest === undefined ? undefined : { prefix: `v0:${time}:`, signatures: [digest], at };
	},
	describe({ type, event, event_id: id, trigger_id: trigger, challenge, command, ssl_check: check }) {
		const inner = isRecord(event) ? event.type : undefined;
		const own = typeof command === 'string' ? 'slash_command' : type;
		const named = type === 'event_callback' ? inner : own;
		const isChallenge = type === 'url_verification' && typeof challenge === 'string';
		return {
			type: typeof named === 'string' ? named : undefined,
			id: [id, trigger].find((one) => typeof one === 'string'),
			// Other payloads are commands and clicks, whose answer Slack shows to the person.
			isShown: typeof own === 'string' && !events.has(own),
			...(isChallenge && { reply: challenge }),
			// Slack sends this only to check our certificate.
			...(check !== undefined && { reply: '' }),
		};
	},
};

/** The types of the Events API: https://docs.slack.dev/apis/events-api */
const events: ReadonlySet<string> = new Set(['event_callback', 'url_verification', 'app_rate_limited']);
