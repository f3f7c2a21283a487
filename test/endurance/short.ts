/** The short forms of the programmes, as tests. */
import { expect } from 'vitest';
import { report } from './programmes.ts';
import type { Figures } from './stage.ts';

/** The longest time of a short form on a busy machine, in milliseconds. */
export const timeout = 600_000;

/** Prints the figures of a programme. Rejects if its promise is broken. */
export async function show(name: string, programme: Promise<Figures>): Promise<void> {
	const begun = performance.now();
	const figures = await programme;
	report(name, figures, performance.now() - begun);
	expect(figures.seed).toBeTypeOf('number');
}
