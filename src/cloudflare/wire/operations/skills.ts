import { operation } from '../operation.ts';
import { skillQuery } from '../skill.ts';

export const listSkills = operation({
	method: 'get',
	path: '/v1/skills',
	access: 'seeSkills',
	query: skillQuery,
});

export const getSkill = operation({
	method: 'get',
	path: '/v1/skills/:name',
	access: 'seeSkills',
});

export const putSkill = operation({
	method: 'put',
	path: '/v1/skills/:name',
	access: 'admin',
});

export const deleteSkill = operation({
	method: 'delete',
	path: '/v1/skills/:name',
	access: 'admin',
});
