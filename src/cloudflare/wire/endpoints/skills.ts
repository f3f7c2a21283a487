import { createEndpoint } from '../endpoint.ts';
import { skillQuery } from '../skill.ts';

export const listSkills = createEndpoint('get', '/v1/skills', { access: 'seeSkills', query: skillQuery });

export const getSkill = createEndpoint('get', '/v1/skills/:name', { access: 'seeSkills' });

export const putSkill = createEndpoint('put', '/v1/skills/:name', { access: 'admin' });

export const deleteSkill = createEndpoint('delete', '/v1/skills/:name', { access: 'admin' });
