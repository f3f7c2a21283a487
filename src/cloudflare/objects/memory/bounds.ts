import { RunletError } from '../../../core/ground/errors.ts';
import { longestMemory, mostCharacters, mostMemories } from '../../wire/memory.ts';

/** Throws `too_large` if a text is too long for a memory. */
export function assertLength(text: string): void {
	if (text.length <= longestMemory) return;
	throw createTooLarge(
		'text',
		`has ${text.length} characters, and a memory at most ${longestMemory}. Keep what matters, or split it over several paths`,
	);
}

/** Throws `too_large` if a person has too many memories, or too long ones. */
export function assertTotal({ count, characters }: { readonly count: number; readonly characters: number }): void {
	if (count > mostMemories)
		throw createTooLarge(
			'path',
			`there are ${mostMemories} memories, which is the most. Write into one that is there, or forget one first`,
		);
	if (characters > mostCharacters)
		throw createTooLarge(
			'text',
			`all memories together would have ${characters} characters, and ${mostCharacters} is the most. Forget what is old first`,
		);
}

function createTooLarge(field: string, what: string): RunletError {
	return new RunletError('too_large', `${field}: ${what}.`, { field });
}
