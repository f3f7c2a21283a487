/** The short forms of the programmes, as tests. */
import { expect } from 'vitest';
import { report } from './programmes.ts';
import type { Figures } from './stage.ts';

/** The most that one of them takes on a machine that is busy, in milliseconds. */
export const timeout = 600_000;

/** Shows what a programme measured; it throws where its promise is broken. */
export async function show(name: string, programme: Promise<Figures>): Promise<void> {
	const begun = performance.now();
	const figures = await programme;
	report(name, figures, performance.now() - begun);
	expect(figures.seed).toBeTypeOf('number');
}
