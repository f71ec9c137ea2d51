export const graphCases = {};
