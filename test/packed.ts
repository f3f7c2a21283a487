import * as v from 'valibot';
import { inject } from 'vitest';
import type { Packed } from './pack.ts';

const packed = v.object({ file: v.string(), paths: v.array(v.string()) });

/** Finds the packed package, which all test files share. */
export async function findPacked(): Promise<Packed> {
	const response = await fetch(inject('packing'));
	const text = await response.text();
	if (!response.ok) throw new Error(`Runlet could not be packed: ${text}`);
	return v.parse(packed, JSON.parse(text));
}
