import { isRecord } from '../ground/json.ts';
import type { Message } from './message.ts';

/** Whether a provider has summed up what came before a message, within it. */
export function isCompacted(providerMetadata: Readonly<Record<string, unknown>> = {}, variant?: string): boolean {
	const kept = variant === undefined ? undefined : providerMetadata[variant];
	if (!isRecord(kept)) return false;
	return [kept.content, kept.output].some((blocks) => Array.isArray(blocks) && blocks.some(isCompaction));
}

/** A compaction of Anthropic without content has failed. */
function isCompaction(block: unknown): boolean {
	if (!isRecord(block) || block.type !== 'compaction') return false;
	return typeof block.content === 'string' || typeof block.encrypted_content === 'string';
}

/**
 * Leaves out what a provider has summed up: everything in front of the newest such message, except system messages. Another
 * provider gets all of it.
 */
export function dropCompacted(messages: readonly Message[], variant: string | undefined): readonly Message[] {
	const from = messages.findLastIndex(
		(message) => message.role === 'assistant' && isCompacted(message.providerMetadata, variant),
	);
	return from === -1 ? messages : messages.filter(({ role }, at) => at >= from || role === 'system');
}
