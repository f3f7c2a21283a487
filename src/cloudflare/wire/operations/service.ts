import * as v from 'valibot';
import { operation } from '../operation.ts';

export const getHealth = operation({
	method: 'get',
	path: '/healthz',
	access: 'anybody',
	query: v.object({ deep: v.optional(v.pipe(v.string(), v.maxLength(20))) }),
});

export const getDocument = operation({
	method: 'get',
	path: '/openapi.json',
	access: 'anybody',
});

export const getDocs = operation({
	method: 'get',
	path: '/docs',
	access: 'anybody',
	ignoresQuery: true,
});

export const listAgents = operation({
	method: 'get',
	path: '/v1/agents',
	access: 'seeAgents',
});
