import type { Message } from '../../../core/chat/index.ts';

const minute = 60_000;

/** Anthropic's prices of a read, and of a write for 5 minutes or an hour, as shares of the price of an input token. */
const [read, short, long] = [0.1, 1.25, 2];

/**
 * Chooses how long a session's prompt stays in the cache, from the pauses between the session's turns: an hour if that
 * would have cost less until now. The sizes of prompts are measured in messages, not in tokens.
 */
export function chooseCacheLifetime(
	history: readonly { readonly message: Message; readonly createdAt: number }[],
): '5m' | '1h' {
	let [forMinutes, forAnHour] = [0, 0];
	let cached = 0;
	let answeredAt: number | undefined;
	for (const [count, { message, createdAt }] of history.entries()) {
		if (message.role !== 'assistant') continue;
		const pause = (history[count - 1]?.createdAt ?? createdAt) - (answeredAt ?? createdAt);
		const fresh = count - cached;
		forMinutes += (pause > 5 * minute ? short : read) * cached + short * fresh;
		forAnHour += (pause > 60 * minute ? long : read) * cached + long * fresh;
		cached = count;
		answeredAt = createdAt;
	}
	return forAnHour < forMinutes ? '1h' : '5m';
}
